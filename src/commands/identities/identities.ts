import { invalidRequest, Rejected } from "#streams/decider.ts";
import { requireVerified } from "#streams/domain/decider.ts";
import { addressInUse } from "#streams/emailAddress/decider.ts";
import { withoutTag } from "#streams/emailAddress/untagged.ts";
import type { Identity } from "#streams/identity/decider.ts";
import { defaultSettings } from "#streams/identity/defaults.ts";
import type { IdentitySettings } from "#streams/identity/events.ts";
import { isHostedHere, sealChannels, wireNames } from "../approvals/approvalChannels.ts";
import { requireMayNameApprovers, withWorkspaceRequirement } from "../approvals/humanApproval.ts";
import { requireAssistant } from "../assistants.ts";
import type { Dependencies } from "../dependencies.ts";
import { attachIdentity, isDomainWithinPlan, loadDomain } from "../domains/domains.ts";
import type { Cause } from "../handle.ts";
import { newId, sandboxDomainId } from "../ids.ts";
import { capOf } from "../plans/plans.ts";
import { type HolderState, isWithinPlan, planFullRefusal, takeSlot, vacateSlot } from "../plans/slots.ts";
import {
  addressHash,
  releaseAddress,
  requireLocalPart,
  requireOwnDisplayName,
  requireUnreserved,
  reserveAddressWithoutTag,
} from "./addresses.ts";
import { reduceSignature } from "./signatures.ts";

/**
 * Settings of a new identity; defaults of absent ones are in streams/identity/defaults.ts. `mayLoosen`: true if the caller may name
 * approvers in a workspace that requires human approval.
 */
export type NewIdentity = Partial<IdentitySettings> & {
  workspaceId: string;
  domainId: string;
  localPart: string;
  mayLoosen?: boolean;
};

/**
 * Creates an identity. Its slot in the plan and its address are taken first, so that only one of two concurrent requests gets them. Throws
 * Rejected invalid_request (invalid or reserved local part, approval address hosted here, or 409 if the address is in use), not_found
 * (domain), plan_limit_reached, insufficient_scope.
 */
export async function createIdentity(
  deps: Dependencies,
  { mayLoosen = false, ...wanted }: NewIdentity,
  cause: Cause,
): Promise<{ identityId: string; position: number }> {
  if (mayLoosen) return create(deps, wanted, cause);
  return withWorkspaceRequirement(deps, wanted.workspaceId, (requires, guard) => {
    if (requires) requireMayNameApprovers(wanted);
    return create(deps, wanted, { ...cause, unlessMoved: [guard] });
  });
}

async function create(
  deps: Dependencies,
  wanted: Omit<NewIdentity, "mayLoosen">,
  cause: Cause,
): Promise<{ identityId: string; position: number }> {
  const identity = { ...defaultSettings, ...wanted };
  const { workspaceId, domainId, localPart } = identity;
  requireLocalPart(localPart);
  requireOwnDisplayName(identity.displayName);
  await requireNotHostedHere(deps, identity);
  const signature = await reduceSignature(deps, workspaceId, { given: identity.signatureHtml, before: null });
  const sealed = { ...identity, ...signature, ...sealChannels(deps, { workspaceId, given: identity, stored: null }) };
  await requireAssistant(deps, workspaceId, identity.assistantId);
  const { name: domainName, sandbox } = await addressDomain(deps, workspaceId, domainId);
  const emailAddress = `${localPart}@${domainName}`;
  if (sandbox) requireUnreserved(localPart);
  if (withoutTag(emailAddress) === deps.settings.approvalsFrom.toLowerCase()) throw addressInUse();
  const identityId =
    (await interruptedCreation(deps, { workspaceId, emailAddress }, cause)) ?? newId(deps, cause, "identity");
  await takePlace(deps, { workspaceId, identityId, domainId, emailAddress, sandbox }, cause);
  const command = { type: "CreateIdentity", identity: { ...sealed, emailAddress } } as const;
  const { changed, position } = await deps.identities.handle(identityId, command, cause);
  // Another request completed the creation that this one had begun, or this request continued a creation that the other one had just
  // completed.
  if (!changed) throw addressInUse();
  return { identityId, position };
}

/**
 * Returns the id of an interrupted creation that claimed the address in this workspace. The next request for the address continues that
 * creation.
 */
async function interruptedCreation(
  deps: Dependencies,
  { workspaceId, emailAddress }: { workspaceId: string; emailAddress: string },
  cause: Cause,
): Promise<string | undefined> {
  const { state: address } = await deps.emailAddresses.load(addressHash(emailAddress));
  if (address.identityId === null || address.lastWorkspaceId !== workspaceId) return undefined;
  const { state: identity } = await deps.identities.load(address.identityId);
  // If this request is a repetition, the identity's stream will say if this operation created the identity.
  if (identity.exists && !cause.repeated) throw addressInUse();
  return address.identityId;
}

type IdentityPlace = {
  workspaceId: string;
  identityId: string;
  domainId: string;
  emailAddress: string;
  sandbox: boolean;
};

async function takePlace(deps: Dependencies, place: IdentityPlace, cause: Cause): Promise<void> {
  const { workspaceId, identityId, domainId, emailAddress, sandbox } = place;
  const cap = await capOf(deps, workspaceId, "identities");
  const slot = { workspaceId, kind: "identities", holderId: identityId } as const;
  const { isNew: ours } = await takeSlot(deps, { ...slot, cap, stateOf: (id) => holderState(deps, id) }, cause).catch(
    (error) => {
      if (!(error instanceof Rejected) || error.code !== "plan_limit_reached") throw error;
      throw planFullRefusal("identities", cap);
    },
  );
  const addressId = addressHash(emailAddress);
  const displaced = sandbox ? undefined : await displacedFrom(deps, workspaceId, emailAddress);
  const claim = { type: "ClaimAddress", address: emailAddress, identityId, workspaceId, sandbox, displaced } as const;
  try {
    if (sandbox) await reserveAddressWithoutTag(deps, place, cause);
    await deps.emailAddresses.handle(addressId, claim, cause);
    if (!sandbox) await attachIdentity(deps, { domainId, identityId }, cause);
  } catch (error) {
    if (ours && error instanceof Rejected) {
      await deps.emailAddresses.handle(addressId, { type: "ReleaseAddress", identityId }, cause);
      await vacateSlot(deps, slot, cause);
    }
    throw error;
  }
}

/** Returns the identity that claimed the address while another workspace owned the domain, which this workspace has proven since. */
async function displacedFrom(
  deps: Dependencies,
  workspaceId: string,
  emailAddress: string,
): Promise<string | undefined> {
  const { state: address } = await deps.emailAddresses.load(addressHash(emailAddress));
  return address.identityId !== null && address.lastWorkspaceId !== workspaceId ? address.identityId : undefined;
}

async function holderState(deps: Dependencies, identityId: string): Promise<HolderState> {
  const { state: identity } = await deps.identities.load(identityId);
  if (!identity.exists) return "unborn";
  return identity.deleted ? "gone" : "alive";
}

/**
 * Returns false for an identity above the plan's limit, or on a domain above it. Such an identity can be read, but neither sends nor
 * receives.
 */
export async function isIdentityWithinPlan(
  deps: Dependencies,
  { identityId, identity }: { identityId: string; identity: Pick<Identity, "workspaceId" | "domainId"> },
): Promise<boolean> {
  const { workspaceId } = identity;
  const slot = { workspaceId, kind: "identities", holderId: identityId } as const;
  const [itself, domain] = await Promise.all([
    isWithinPlan(deps, slot, (id) => holderState(deps, id)),
    isDomainWithinPlan(deps, workspaceId, identity.domainId),
  ]);
  return itself && domain;
}

/** Changes the given settings and keeps the rest. `mayLoosen`: true if the caller has the scope write:approvals. */
export async function updateIdentity(
  deps: Dependencies,
  {
    workspaceId,
    identityId,
    changes,
    mayLoosen,
  }: {
    workspaceId: string;
    identityId: string;
    changes: Partial<IdentitySettings>;
    mayLoosen: boolean;
  },
  cause: Cause,
): Promise<{ position: number }> {
  const { state } = await deps.identities.load(identityId);
  if (!state.exists || state.workspaceId !== workspaceId) throw new Rejected("not_found", "no such identity");
  requireOwnDisplayName(changes.displayName);
  await requireNotHostedHere(deps, changes);
  await requireAssistant(deps, workspaceId, changes.assistantId);
  const signature =
    changes.signatureHtml === undefined
      ? {}
      : await reduceSignature(deps, workspaceId, { given: changes.signatureHtml, before: state.signatureHtml });
  const sealed = (identity: Identity) => ({
    ...changes,
    ...signature,
    ...sealChannels(deps, { workspaceId, given: changes, stored: identity }),
  });
  return withWorkspaceRequirement(deps, workspaceId, (workspaceRequires, guard) =>
    deps.identities.handle(
      identityId,
      (identity) => ({ type: "UpdateIdentity" as const, changes: sealed(identity), mayLoosen, workspaceRequires }),
      { ...cause, unlessMoved: [guard] },
    ),
  );
}

/** Deletes an identity. Frees its address too, unless mail of the identity is being sent. */
export async function deleteIdentity(
  deps: Dependencies,
  { workspaceId, identityId, mayLoosen }: { workspaceId: string; identityId: string; mayLoosen: boolean },
  cause: Cause,
): Promise<{ position: number }> {
  const { state } = await deps.identities.load(identityId);
  if (!state.exists || state.workspaceId !== workspaceId) throw new Rejected("not_found", "no such identity");
  const { position } = await withWorkspaceRequirement(deps, workspaceId, (workspaceRequires, guard) =>
    deps.identities.handle(
      identityId,
      { type: "DeleteIdentity", mayLoosen, workspaceRequires },
      { ...cause, unlessMoved: [guard] },
    ),
  );
  // If the read model is late, processes/releaseAddress.ts frees the address.
  if (await deps.projected(position, { of: ["drafts"] }))
    await releaseAddress(deps, { workspaceId, identityId }, cause);
  return { position };
}

/** Returns the domain of an identity's address, and whether that is the sandbox domain. Throws Rejected not_found, invalid_request. */
async function addressDomain(
  deps: Dependencies,
  workspaceId: string,
  domainId: string,
): Promise<{ name: string; sandbox: boolean }> {
  const { sandboxDomain } = deps.settings;
  if (sandboxDomain !== null && domainId === sandboxDomainId(workspaceId))
    return { name: sandboxDomain, sandbox: true };
  const domain = await loadDomain(deps, { workspaceId, domainId });
  requireVerified(domain);
  return { name: domain.mailDomain, sandbox: false };
}

/** Rejects approver mailboxes hosted by this service, because an agent could read them. */
async function requireNotHostedHere(deps: Dependencies, settings: Partial<IdentitySettings>): Promise<void> {
  for (const field of ["approvalChannel", "secondaryApprovalChannel"] as const) {
    const channel = settings[field];
    if (channel?.type !== "email" || !(await isHostedHere(deps, channel.config.to as string))) continue;
    throw invalidRequest(
      `${wireNames[field]}.config.to`,
      "an address hosted by this service cannot approve: use a person's mailbox elsewhere",
    );
  }
}
