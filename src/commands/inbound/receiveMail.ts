import { identityByAddress } from "#projections/identities/queries.ts";
import { crashPoint } from "#src/crashPoints.ts";
import { domainOfAddress } from "#src/dns/names.ts";
import { readHeaders } from "#src/mail/in/headers.ts";
import type { Delivery, Reception, Recipient } from "#src/mail/in/reception.ts";
import type { Actor } from "#streams/event.ts";
import type { Dependencies } from "../dependencies.ts";
import { loadName } from "../domains/domainNames.ts";

/** Takes mail in: resolves recipients, and makes a mail durable before its sender is answered 250. */
export const reception = (deps: Dependencies): Reception => ({
  resolve: (address) => resolveRecipient(deps, address),
  accept: (delivery) => receive(deps, delivery),
});

/** The envelope decides: the exact address first, then without its +tag, whatever the case. */
async function resolveRecipient(deps: Dependencies, address: string): Promise<Recipient | undefined> {
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

async function receive(deps: Dependencies, delivery: Delivery): Promise<void> {
  const { recipient, address, from, raw, remote } = delivery;
  const rawSha256 = await deps.blobs.put(raw);
  crashPoint("inbound:blob-stored");
  const deliveryId = deps.ids.uuid();
  const headers = readHeaders(raw, from);
  const mail = {
    deliveryId,
    envelope: { from, to: address },
    remote,
    rawSha256,
    sizeBytes: raw.length,
    headers,
  };
  const actor: Actor = { kind: "sender", id: headers.from?.address ?? from, ip: remote.ip };
  const cause = { actor, correlationId: deliveryId, causationId: deliveryId };
  if (recipient.kind === "approvals") {
    const { workspaceId, identityId } = await approverOf(deps, headers.threadIds);
    const command = { type: "ReceiveApprovalReply", reply: { ...mail, workspaceId, identityId } } as const;
    await deps.approvalReplies.handle(deliveryId, command, { ...cause, workspaceId });
    return;
  }
  const { identityId, workspaceId } = recipient;
  const command = { type: "ReceiveMail", mail: { ...mail, workspaceId, identityId } } as const;
  await deps.inboxes.handle(identityId, command, { ...cause, workspaceId });
  crashPoint("inbound:received");
}

/** Whose approval mail was answered, if its Message-ID still tells. */
async function approverOf(deps: Dependencies, threadIds: readonly string[]) {
  for (const id of threadIds) {
    const origin = deps.messageIds.open(id);
    if (!origin) continue;
    const { state } = await deps.identities.load(origin.identityId);
    return { workspaceId: state.workspaceId || null, identityId: origin.identityId };
  }
  return { workspaceId: null, identityId: null };
}
