import { identityByAddress } from "#projections/identities/queries.ts";
import { domainOfAddress } from "#src/dns/names.ts";
import type { Recipient } from "#src/mail/in/reception.ts";
import type { Dependencies } from "../dependencies.ts";
import { loadName } from "../domains/domainNames.ts";

/** The envelope decides: the exact address first, then without its +tag, whatever the case. */
export async function resolveRecipient(deps: Dependencies, address: string): Promise<Recipient | undefined> {
  const exact = address.toLowerCase();
  if (exact === deps.settings.approvalsFrom.toLowerCase()) return { kind: "approvals" };
  const untagged = exact.replace(/\+[^@]*(?=@)/, "");
  const found = await withoutDisplaced(
    deps,
    exact,
    await identityByAddress(deps.reads, [...new Set([exact, untagged])]),
  );
  const identity = found.find((row) => row.email_address === exact) ?? found[0];
  return identity && { kind: "identity", identityId: identity.id, workspaceId: identity.workspace_id };
}

/** A domain that changed hands takes its mail along: another workspace's earlier identities on it receive nothing any more. */
async function withoutDisplaced<Found extends { workspace_id: string }>(
  deps: Dependencies,
  address: string,
  found: readonly Found[],
): Promise<Found[]> {
  const domain = domainOfAddress(address);
  if (found.length === 0 || domain === deps.settings.sandboxDomain) return [...found];
  const { verified } = await loadName(deps, domain);
  return found.filter(({ workspace_id }) => verified === null || verified.workspaceId === workspace_id);
}
