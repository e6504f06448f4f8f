import { newDkimKeys } from "#src/mail/out/dkimKeys.ts";
import { invalidRequest, notFound, Rejected } from "#streams/decider.ts";
import type { Domain } from "#streams/domain/domain.ts";
import type { DomainFacts } from "#streams/domain/events.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { newId, sandboxDomainId } from "../ids.ts";
import { capOf } from "../plans/plans.ts";
import { type HolderState, isWithinPlan, planFullRefusal, takeSlot, vacateSlot } from "../plans/slots.ts";
import type { Loaded } from "../states/foldState.ts";
import { type DomainNames, loadName, type NamesOfDomain, nameId, namesOf, readDomainNames } from "./domainNames.ts";
import { tryRegisterAtProvider } from "./providerDomains.ts";

export type NewDomain = { workspaceId: string; domainName: string; inboundSubdomain: string | null };

/**
 * Adds a domain with its own DKIM key. Its slot in the plan and its names are taken first, so that only one of two concurrent requests gets
 * them. Throws Rejected invalid_request (invalid domain name, or 409 if already added or verified elsewhere), plan_limit_reached.
 */
export async function createDomain(
  deps: Dependencies,
  { workspaceId, domainName, inboundSubdomain }: NewDomain,
  cause: Cause,
): Promise<{ domainId: string; position: number }> {
  const names = readDomainNames(deps.settings, domainName, inboundSubdomain);
  const interrupted = await interruptedCreation(deps, workspaceId, names);
  const ownId = newId(deps, cause, "domain");
  const domainId = interrupted ?? ownId;
  const begun = await deps.domains.load(domainId);
  if (begun.state.exists && !begun.state.deleted) {
    if (domainId !== ownId) throw justAdded();
    // The request is repeated: its first run added the domain.
    return { domainId, position: begun.position };
  }
  await takePlace(deps, { workspaceId, domainId, names }, cause);
  const [domain, registration] = await Promise.all([
    newDomain(deps, workspaceId, names),
    tryRegisterAtProvider(deps, names.mailDomain),
  ]);
  const at = deps.clock.now().toISOString();
  const command = { type: "AddDomain", domain, ...(registration && { registration }), at } as const;
  const { changed, position, state } = await deps.domains.handle(domainId, command, cause);
  if (changed) return { domainId, position };
  // Another request completed the creation that this request had begun, perhaps with a different subdomain.
  const unused = namesOf(names).filter((name) => !namesOf(state).includes(name));
  for (const name of unused) await releaseName(deps, { domainId, name }, cause);
  throw justAdded();
}

const justAdded = (): Rejected =>
  invalidRequest("domain_name", "this domain has just been added: use that one", { conflict: true });

/**
 * Returns the id of an interrupted creation that took the name in this workspace. The next request for the name continues that creation.
 */
async function interruptedCreation(deps: Dependencies, workspaceId: string, { name }: DomainNames) {
  const held = (await loadName(deps, name)).registered[workspaceId];
  return held !== undefined && (await stateOf(deps, held)) === "unborn" ? held : undefined;
}

async function takePlace(
  deps: Dependencies,
  { workspaceId, domainId, names }: { workspaceId: string; domainId: string; names: DomainNames },
  cause: Cause,
): Promise<void> {
  const cap = await capOf(deps, workspaceId, "domains");
  const slot = { workspaceId, kind: "domains", holderId: domainId } as const;
  const { isNew: ours } = await takeSlot(deps, { ...slot, cap, stateOf: (id) => stateOf(deps, id) }, cause).catch(
    (error) => {
      if (!(error instanceof Rejected) || error.code !== "plan_limit_reached") throw error;
      throw planFullRefusal("domains", cap);
    },
  );
  try {
    for (const name of namesOf(names)) await registerName(deps, { name, workspaceId, domainId }, cause);
  } catch (error) {
    if (!(error instanceof Rejected)) throw error;
    await releaseNames(deps, { domainId, names }, cause);
    if (ours) await vacateSlot(deps, slot, cause);
    throw error;
  }
}

async function registerName(
  deps: Dependencies,
  { name, workspaceId, domainId }: { name: string; workspaceId: string; domainId: string },
  cause: Cause,
): Promise<void> {
  const held = (await loadName(deps, name)).registered[workspaceId];
  const gone = held !== undefined && (await stateOf(deps, held)) === "gone" ? held : null;
  const command = { type: "RegisterName", name, domainId, workspaceId, gone } as const;
  await deps.domainNames.handle(nameId(name), command, cause);
}

/** Releases the names of a domain that was deleted, or whose creation was never completed. */
export async function releaseNames(
  deps: Dependencies,
  { domainId, names }: NamesOfDomain,
  cause: Cause,
): Promise<void> {
  for (const name of namesOf(names)) await releaseName(deps, { domainId, name }, cause);
}

const releaseName = (deps: Dependencies, { domainId, name }: { domainId: string; name: string }, cause: Cause) =>
  deps.domainNames.handle(nameId(name), { type: "ReleaseName", domainId }, cause);

const tokenBytes = 16;
const selectorBytes = 4;

async function newDomain(deps: Dependencies, workspaceId: string, names: DomainNames): Promise<DomainFacts> {
  const { publicKey, privateKey } = await newDkimKeys();
  const random = (bytes: number): string => deps.ids.random(bytes).toString("hex");
  return {
    workspaceId,
    ...names,
    token: `service-verification=${random(tokenBytes)}`,
    sendingToken: `sending-verification=${random(tokenBytes)}`,
    selector: `cs${random(selectorBytes)}`,
    publicKey,
    privateKey: deps.keyRing.seal(privateKey, dkimKeyOwner(workspaceId)),
  };
}

/** Returns the workspace and field for which a domain's private DKIM key is encrypted. */
export const dkimKeyOwner = (workspaceId: string) => ({ workspaceId, field: "domain.dkimPrivateKey" });

async function stateOf(deps: Dependencies, domainId: string): Promise<HolderState> {
  const { state } = await deps.domains.load(domainId);
  if (!state.exists) return "unborn";
  return state.deleted ? "gone" : "alive";
}

type DomainRef = { workspaceId: string; domainId: string };

/** Returns a domain of this workspace from its stream. Throws Rejected not_found. */
export async function loadDomain(deps: Dependencies, { workspaceId, domainId }: DomainRef): Promise<Domain> {
  const { state } = await deps.domains.load(domainId);
  if (!state.exists || state.deleted || state.workspaceId !== workspaceId) {
    throw notFound("domain_id", "domain");
  }
  return state;
}

/** Returns the domain of an identity; undefined for the sandbox domain, which belongs to no workspace. */
export async function domainOfIdentity(
  deps: Pick<Dependencies, "domains">,
  { workspaceId, domainId }: DomainRef,
): Promise<Loaded<Domain> | undefined> {
  if (domainId === sandboxDomainId(workspaceId)) return undefined;
  const loaded = await deps.domains.load(domainId);
  return loaded.state.exists ? loaded : undefined;
}

/** Requests that the domain's records be checked before their scheduled time (processes/checkDomains.ts). */
export async function requestCheck(deps: Dependencies, domain: DomainRef, cause: Cause): Promise<{ position: number }> {
  await loadDomain(deps, domain);
  const command = { type: "RequestCheck", at: deps.clock.now().toISOString() } as const;
  return deps.domains.handle(domain.domainId, command, cause);
}

/** Milliseconds after which a creation that attached its identity but did not create it counts as interrupted. */
const interruptedAfterMs = 10 * 60_000;

/** Deletes a domain. Throws Rejected invalid_request (409) while it has identities. */
export async function deleteDomain(deps: Dependencies, domain: DomainRef, cause: Cause): Promise<{ position: number }> {
  const { identities } = await loadDomain(deps, domain);
  const now = deps.clock.now();
  const gone: string[] = [];
  for (const [identityId, attachedAt] of Object.entries(identities)) {
    const { state } = await deps.identities.load(identityId);
    const interrupted = !state.exists && now.getTime() - Date.parse(attachedAt) > interruptedAfterMs;
    if (state.deleted || interrupted) gone.push(identityId);
  }
  const command = { type: "DeleteDomain", gone, at: now.toISOString() } as const;
  return deps.domains.handle(domain.domainId, command, cause);
}

/**
 * Attaches an identity to a domain. The domain then cannot be deleted before the identity is. Throws Rejected invalid_request, not_found.
 */
export async function attachIdentity(
  deps: Dependencies,
  { domainId, identityId }: { domainId: string; identityId: string },
  cause: Cause,
) {
  const command = { type: "AttachIdentity", identityId, at: deps.clock.now().toISOString() } as const;
  await deps.domains.handle(domainId, command, cause);
}

/** Returns false for a domain above the plan's limit. The sandbox domain does not count towards the limit. */
export const isDomainWithinPlan = async (deps: Dependencies, workspaceId: string, domainId: string): Promise<boolean> =>
  domainId === sandboxDomainId(workspaceId) ||
  isWithinPlan(deps, { workspaceId, kind: "domains", holderId: domainId }, (id) => stateOf(deps, id));
