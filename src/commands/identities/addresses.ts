import { createHash } from "node:crypto";
import { invalid, type Rejected } from "#streams/decider.ts";
import { withoutTag } from "#streams/emailAddress/untagged.ts";
import { isReservedLocalPart } from "#streams/identity/reservedLocalParts.ts";
import type { Dependencies } from "../dependencies.ts";

/** As the contract has it; no dot at either end nor two in a row, which no address may have (RFC 5321). */
const localPartPattern = /^(?=.{1,64}$)[a-z0-9_+-]+(\.[a-z0-9_+-]+)*$/;

/** The address's part of a stream name: a hash, because no address may appear in a stream id. */
export const addressHash = (address: string): string =>
  createHash("sha256").update(address.toLowerCase()).digest("hex");

export const addressInUse = (): Rejected =>
  invalid("local_part", "this address is already in use: choose another local_part", { conflict: true });

/** Throws Rejected invalid_request. */
export function requireLocalPart(localPart: string): void {
  if (localPartPattern.test(localPart)) return;
  throw invalid("local_part", "expected 1 to 64 lowercase letters, digits and _ + -, with single dots between them");
}

/**
 * In the sandbox all workspaces share a domain. Names that speak for the domain belong to no identity (one that has such a name keeps it), and mail to
 * name+tag is for the owner of the name, so no stranger's identity may get it first. Throws Rejected invalid_request.
 */
export async function requireOwnInSandbox(
  deps: Dependencies,
  { workspaceId, localPart, emailAddress }: { workspaceId: string; localPart: string; emailAddress: string },
): Promise<void> {
  if (isReservedLocalPart(localPart)) {
    const remedy = "choose another local_part, or use a domain of your own";
    throw invalid("local_part", `this name is reserved for the operator of this shared domain: ${remedy}`);
  }
  const untagged = withoutTag(emailAddress);
  if (untagged === emailAddress) return;
  const { state } = await deps.emailAddresses.load(addressHash(untagged));
  if (state.lastWorkspaceId !== null && state.lastWorkspaceId !== workspaceId) throw addressInUse();
}
