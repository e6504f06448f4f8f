import type { MailTransaction, Reception, Recipient } from "#src/mail/in/reception.ts";
import { crashPoint } from "#src/platform/crashPoints.ts";
import { deliveryStream } from "#streams/delivery/events.ts";
import type { Actor } from "#streams/event.ts";
import type { InboxEvent } from "#streams/inbox/events.ts";
import type { Dependencies } from "../dependencies.ts";
import { createRecipients } from "./recipients.ts";
import { keepStrayMail } from "./strayMail.ts";

/** Receives mail: resolves recipients, and makes a mail durable before its sender gets the reply 250. */
export const createReception = (deps: Dependencies): Reception => ({
  resolve: createRecipients(deps),
  accept: (transaction) => receive(deps, transaction),
});

/** Stores the mail's bytes and parses its headers once for all recipients. Then stores each recipient's copy, one after the other. */
async function receive(deps: Dependencies, { recipients, from, raw, remote }: MailTransaction): Promise<void> {
  const rawSha256 = await deps.blobs.put(raw);
  crashPoint("inbound:blob-stored");
  const headers = await deps.headerReader.read(raw, { rawSha256, envelopeFrom: from });
  const mail = { remote, rawSha256, sizeBytes: raw.length, headers };
  for (const { recipient, address } of recipients) {
    const envelope = { from, to: address };
    if (recipient.kind === "postmaster") await keepStrayMail(deps, { ...mail, envelope, workspaceId: null });
    else await deliver(deps, recipient, { ...mail, deliveryId: deps.ids.uuid(), envelope });
  }
}

type MailCopy = Omit<InboxEvent["data"], "workspaceId" | "identityId">;

async function deliver(
  deps: Dependencies,
  recipient: Exclude<Recipient, { kind: "postmaster" }>,
  mail: MailCopy,
): Promise<void> {
  const { deliveryId, headers, envelope, remote } = mail;
  const actor: Actor = { kind: "sender", id: headers.from?.address ?? envelope.from, ip: remote.ip };
  const cause = { actor, correlationId: deliveryId, causationId: deliveryId };
  if (recipient.kind === "approvals") {
    const { workspaceId, identityId } = await approverOf(deps, headers.threadIds);
    const command = { type: "ReceiveApprovalReply", reply: { ...mail, workspaceId, identityId } } as const;
    await deps.approvalReplies.handle(deliveryId, command, { ...cause, workspaceId });
    return;
  }
  const { identityId, workspaceId } = recipient;
  const approvalMail = await ownApprovalMail(deps, headers.messageId);
  if (approvalMail) {
    // If the approval mail is another workspace's, the inbox does not record its approvers, because they are not this workspace's.
    const isOwn = approvalMail.workspaceId === workspaceId;
    const owner = isOwn ? { workspaceId, identityId } : { workspaceId: null, identityId: null };
    const command = { type: "ReceiveApprovalReply", reply: { ...mail, ...owner } } as const;
    await deps.approvalReplies.handle(deliveryId, command, { ...cause, workspaceId: owner.workspaceId });
    return;
  }
  const command = { type: "ReceiveMail", mail: { ...mail, workspaceId, identityId } } as const;
  await deps.inboxes.handle(identityId, command, { ...cause, workspaceId });
  crashPoint("inbound:received");
}

/**
 * Returns the workspace whose approval or notification mail arrived here with its own Message-ID, because a mailbox forwarded it or a
 * person sent it again; undefined for all other mail. Mail of agents also has Message-IDs of this service, but its delivery attempt is
 * recorded before it is sent, so it is told apart.
 */
async function ownApprovalMail(deps: Dependencies, messageId: string): Promise<{ workspaceId: string } | undefined> {
  const origin = deps.messageIds.open(messageId);
  if (!origin || (await deps.store.readLast(deliveryStream(origin.attemptId)))) return undefined;
  const { state } = await deps.identities.load(origin.identityId);
  return { workspaceId: state.workspaceId };
}

/** Returns the workspace and identity of an answered approval mail, from its Message-ID; nulls if that cannot be read any more. */
async function approverOf(deps: Dependencies, threadIds: readonly string[]) {
  for (const id of threadIds) {
    const origin = deps.messageIds.open(id);
    if (!origin) continue;
    const { state } = await deps.identities.load(origin.identityId);
    return { workspaceId: state.workspaceId || null, identityId: origin.identityId };
  }
  return { workspaceId: null, identityId: null };
}
