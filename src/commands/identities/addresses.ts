import { createHash } from "node:crypto";
import { draftIdsOfIdentity } from "#projections/drafts/queries.ts";
import { invalidRequest } from "#streams/decider.ts";
import { withoutTag } from "#streams/emailAddress/untagged.ts";
import { isReservedLocalPart, resemblesServiceName } from "#streams/identity/reservedNames.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";

/** Pattern of local parts in the API's contract. It forbids a dot at either end and two dots in a row (RFC 5321). */
const localPartPattern = /^(?=.{1,64}$)[a-z0-9_+-]+(\.[a-z0-9_+-]+)*$/;

/** Hashes an address for a stream name, because stream ids must not contain addresses. */
export const addressHash = (address: string): string =>
  createHash("sha256").update(address.toLowerCase()).digest("hex");

/** Throws Rejected invalid_request for an invalid local part. */
export function requireLocalPart(localPart: string): void {
  if (localPartPattern.test(localPart)) return;
  throw invalidRequest(
    "local_part",
    "expected 1 to 64 lowercase letters, digits and _ + -, with single dots between them",
  );
}

/**
 * Rejects local parts that have a meaning for a whole domain (for example postmaster). Existing identities keep theirs. Throws Rejected
 * invalid_request.
 */
export function requireUnreserved(localPart: string): void {
  if (!isReservedLocalPart(localPart)) return;
  const remedy = "choose another local_part, or use your own domain";
  throw invalidRequest("local_part", `this name is reserved for the operator of this shared domain: ${remedy}`);
}

/** Rejects display names that resemble the service's own name, which approvers trust. Throws Rejected invalid_request. */
export function requireOwnDisplayName(displayName: string | undefined): void {
  if (displayName === undefined || !resemblesServiceName(displayName)) return;
  throw invalidRequest("display_name", "this is, or looks like, the name of the service itself: choose another");
}

/**
 * Reserves the address without its +tag. Mail to name+tag belongs to the owner of the name, so a workspace that claims name+tag must own
 * the name too. Throws Rejected invalid_request (409).
 */
export async function reserveAddressWithoutTag(
  deps: Pick<Dependencies, "emailAddresses">,
  { workspaceId, emailAddress }: { workspaceId: string; emailAddress: string },
  cause: Cause,
): Promise<void> {
  const untagged = withoutTag(emailAddress);
  if (untagged === emailAddress) return;
  await deps.emailAddresses.handle(addressHash(untagged), { type: "ReserveAddress", workspaceId }, cause);
}

/**
 * Frees the address of a deleted identity. Returns false, and does not free it, while mail of the identity is being sent. The read model of
 * drafts must have reached the deletion.
 */
export async function releaseAddress(
  deps: Pick<Dependencies, "emailAddresses" | "identities" | "reads">,
  { workspaceId, identityId }: { workspaceId: string; identityId: string },
  cause: Cause,
): Promise<boolean> {
  const { state: identity } = await deps.identities.load(identityId);
  const sending = await draftIdsOfIdentity(deps.reads, workspaceId, { identityId, statuses: ["sending"] });
  if (sending.length > 0) return false;
  await deps.emailAddresses.handle(addressHash(identity.emailAddress), { type: "ReleaseAddress", identityId }, cause);
  return true;
}
