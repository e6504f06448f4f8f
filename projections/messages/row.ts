import type { DraftContent } from "#streams/draft/content.ts";
import type { DraftEvent } from "#streams/draft/events.ts";
import { idOf, type Recorded } from "#streams/event.ts";
import { kindOf } from "#streams/inbox/mailKinds.ts";
import type { InboundMessage } from "#streams/thread/events.ts";
import { attachmentsOf } from "./attachments.ts";
import type { MessagesEvent } from "./held.ts";

type Queued = Extract<DraftEvent, { type: "DraftQueued" }>["data"];

export const messageColumns = [
  "id",
  "workspace_id",
  "identity_id",
  "thread_id",
  "direction",
  "filing_number",
  "classification",
  "kind",
  "sent_by",
  "from_email",
  "from_name",
  "to_emails",
  "cc_emails",
  "bcc_emails",
  "reply_to",
  "subject",
  "body_text",
  "body_html",
  "extracted_text",
  "body_blob",
  "content_blob",
  "rfc_message_id",
  "in_reply_to",
  "reference_ids",
  "received_at",
  "sent_at",
  "delivery_status",
  "draft_id",
  "raw_sha256",
  "attachments",
  "quarantined",
  "from_blocked_contact",
  "approval_links",
  "notes",
  "created_at",
  "placed_on",
  "placed_at",
] as const;

function inboundRow(event: Recorded, message: InboundMessage): Record<string, unknown> {
  const { body, from } = message;
  return {
    id: message.messageId,
    workspace_id: event.metadata.workspaceId,
    identity_id: message.identityId,
    thread_id: idOf(event.stream),
    direction: "inbound",
    filing_number: message.number,
    classification: message.classification,
    kind: kindOf(message),
    sent_by: message.sentBy ?? null,
    from_email: from?.address ?? "",
    from_name: from?.name || null,
    to_emails: message.to,
    cc_emails: message.cc,
    bcc_emails: [],
    reply_to: message.replyTo,
    subject: message.subject,
    body_text: body?.text ?? null,
    body_html: body?.html ?? null,
    extracted_text: body?.extracted ?? null,
    body_blob: message.bodyBlob,
    rfc_message_id: message.rfcMessageId,
    in_reply_to: message.inReplyTo,
    reference_ids: message.references,
    received_at: message.receivedAt,
    raw_sha256: message.rawSha256,
    attachments: message.attachments,
    quarantined: message.quarantined,
    from_blocked_contact: message.fromBlockedContact ?? false,
    approval_links: message.approvalLinks ?? null,
    notes: message.notes ?? [],
    created_at: message.receivedAt,
    placed_on: idOf(event.stream),
    placed_at: event.revision,
  };
}

function outboundRow(event: Recorded, queued: Queued): Record<string, unknown> {
  const content: Partial<DraftContent> = queued.content ?? {};
  return {
    id: queued.messageId,
    workspace_id: event.metadata.workspaceId,
    identity_id: queued.identityId,
    thread_id: queued.threadId,
    direction: "outbound",
    from_email: content.from?.address ?? "",
    from_name: content.from?.name ?? null,
    to_emails: content.to ?? [],
    cc_emails: content.cc ?? [],
    bcc_emails: content.bcc ?? [],
    reply_to: content.reply_to ? [content.reply_to] : [],
    subject: content.subject ?? "",
    body_text: content.body_text ?? null,
    body_html: content.body_html ?? null,
    content_blob: queued.contentBlob,
    in_reply_to: content.in_reply_to ?? null,
    reference_ids: content.references ?? [],
    delivery_status: "queued",
    draft_id: idOf(event.stream),
    attachments: attachmentsOf({ attachments: content.attachments ?? [], body_html: content.body_html ?? null }),
    quarantined: false,
    from_blocked_contact: false,
    notes: [],
    created_at: event.metadata.at,
  };
}

/** Returns the row of a message that an event adds; undefined if it adds none. */
export function messageOf(event: Recorded<MessagesEvent>): Record<string, unknown> | undefined {
  if (event.type === "MessageReceived") return inboundRow(event, event.data);
  return event.type === "DraftQueued" ? outboundRow(event, event.data) : undefined;
}

/** Status of the whole mail after each event; null: the mail was never sent; undefined: unchanged. */
const statusOf: Record<string, (data: Record<string, unknown>) => string | null | undefined> = {
  DraftSent: () => "sent",
  DraftFailed: () => "failed",
  LateEvidence: (data) => (data.outcome === "accepted" ? "sent" : "failed"),
  // A draft that ends stale was never sent: its message is removed.
  DraftMarkedStale: () => null,
  DeliveryDelivered: () => "delivered",
  DeliveryDropped: ({ part }) => (part ? undefined : "failed"),
  DeliveryBounced: ({ part }) => (part ? undefined : "bounced"),
  DeliveryComplained: () => "complained",
};

/** A report about a mail overrides its status at sending, and a worse report a better one, in whatever order they arrive. */
const reported = ["DeliveryDelivered", "DeliveryDropped", "DeliveryBounced", "DeliveryComplained"];

/** An event's outcome for the message of a draft. `status` null: the message is removed. */
type MessageOutcome = { draftId: string; status: string | null; rank: number; sentAt?: string; rfcMessageId?: string };

/** Returns the outcome that an event reports; undefined if it reports none. */
export function outcomeOf(event: Recorded): MessageOutcome | undefined {
  const status = statusOf[event.type]?.(event.data);
  if (status === undefined) return undefined;
  const rank = reported.indexOf(event.type) + 1;
  const draftId = rank === 0 ? idOf(event.stream) : (event.data.draftId as string);
  const { sentAt, rfcMessageId } = event.data as { sentAt?: string; rfcMessageId?: string };
  return { draftId, status, rank, ...(sentAt && { sentAt, rfcMessageId }) } as MessageOutcome;
}
