import { createHash } from "node:crypto";
import { Rejected } from "#streams/decider.ts";
import { emailAddressDecider } from "#streams/emailAddress/decider.ts";
import { emailAddressStream } from "#streams/emailAddress/events.ts";
import { identityDecider } from "#streams/identity/decider.ts";
import { type IdentitySettings, identityStream } from "#streams/identity/events.ts";
import { isHostedHere, sealChannels } from "./approvalChannels.ts";
import type { Dependencies } from "./dependencies.ts";
import type { Cause } from "./handle.ts";
import { sandboxDomainId } from "./ids.ts";

const localPartPattern = /^[a-z0-9](?:[a-z0-9._+-]{0,62}[a-z0-9])?$/;

/** The part of an address's stream name: addresses themselves stand in no stream id. */
export const addressHash = (address: string): string =>
  createHash("sha256").update(address.toLowerCase()).digest("hex");

export type NewIdentity = IdentitySettings & { workspaceId: string; domainId: string; localPart: string };

/**
 * Makes an identity: its address is claimed first, so that of two at once only one gets it. Throws Rejected invalid_request (bad local
 * part, address in use as a conflict, approval address hosted here), not_found (domain).
 */
export async function createIdentity(
  deps: Dependencies,
  identity: NewIdentity,
  cause: Cause,
): Promise<{ identityId: string; position: number }> {
  const { workspaceId, domainId, localPart } = identity;
  const domain = sendingDomain(deps, workspaceId, domainId);
  if (!localPartPattern.test(localPart) || localPart.includes("..")) {
    throw new Rejected(
      "invalid_request",
      "local_part: expected 1 to 64 lower-case letters, digits and . _ + -, beginning and ending with a letter or digit",
    );
  }
  const emailAddress = `${localPart}@${domain}`;
  if (emailAddress === deps.settings.approvalsFrom.toLowerCase()) {
    throw new Rejected("invalid_request", "local_part: this address is already in use; choose another", {
      conflict: true,
    });
  }
  await requireNotHostedHere(deps, identity);
  const identityId = deps.ids.uuid();
  const claim = { type: "ClaimAddress", address: emailAddress, identityId, workspaceId, sandbox: true } as const;
  await deps.handle(emailAddressDecider, emailAddressStream(addressHash(emailAddress)), claim, cause);
  const created = { ...identity, ...sealChannels(deps, workspaceId, identity, null), emailAddress };
  const command = { type: "CreateIdentity", identity: created } as const;
  const { position } = await deps.handle(identityDecider, identityStream(identityId), command, cause);
  return { identityId, position };
}

/** Changes what is given and leaves the rest. `mayLoosen`: the caller holds write:approvals (decisions 2). */
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
  await requireNotHostedHere(deps, changes);
  const stream = identityStream(identityId);
  const { state } = await deps.load(identityDecider, stream);
  if (!state.exists || state.workspaceId !== workspaceId) throw new Rejected("not_found", "no such identity");
  const sealed = { ...changes, ...sealChannels(deps, workspaceId, changes, state) };
  return deps.handle(identityDecider, stream, { type: "UpdateIdentity", changes: sealed, mayLoosen }, cause);
}

export async function deleteIdentity(
  deps: Dependencies,
  { workspaceId, identityId }: { workspaceId: string; identityId: string },
  cause: Cause,
): Promise<{ position: number }> {
  const stream = identityStream(identityId);
  const { state } = await deps.load(identityDecider, stream);
  if (!state.exists || state.workspaceId !== workspaceId) throw new Rejected("not_found", "no such identity");
  return deps.handle(identityDecider, stream, { type: "DeleteIdentity" }, cause);
}

/** The domain an identity may be made on: today the sandbox domain, which stands verified in every workspace. */
function sendingDomain(deps: Dependencies, workspaceId: string, domainId: string): string {
  const { sandboxDomain } = deps.settings;
  if (sandboxDomain !== null && domainId === sandboxDomainId(workspaceId)) return sandboxDomain;
  throw new Rejected("not_found", "domain_id: no such domain");
}

/** An approver's mailbox must not be one that an agent reads. */
async function requireNotHostedHere(deps: Dependencies, settings: Partial<IdentitySettings>): Promise<void> {
  for (const field of ["approvalChannel", "secondaryApprovalChannel"] as const) {
    const channel = settings[field];
    if (channel?.type !== "email" || !(await isHostedHere(deps, channel.config.to as string))) continue;
    const wireField = field === "approvalChannel" ? "approval_channel" : "secondary_approval_channel";
    throw new Rejected(
      "invalid_request",
      `${wireField}.config.to: an address hosted by this service cannot approve; name a person's own mailbox`,
    );
  }
}
