import type { Static } from "typebox";
import { attachmentsOf } from "#projections/messages/attachments.ts";
import {
  claimsToBeColleagues,
  isColleagues,
  type MessageRow,
  type StoredAttachment,
} from "#projections/messages/queries.ts";
import { unprovenColleague } from "#src/channels/card/whoseMail.ts";
import { loadContent } from "#src/commands/drafts/draftContents.ts";
import type { Blobs } from "#src/platform/blobs/blobs.ts";
import type { DraftContent } from "#streams/draft/content.ts";
import type { MessageBody } from "#streams/thread/events.ts";
import type { Message } from "../schemas/messages.ts";
import { timestamp, timestampOrNull } from "./times.ts";

export type WireMessage = Static<typeof Message>;

/** Converts a message to the contract's form. Bodies too large for an event are read from the blob store. */
async function presentMessage(blobs: Blobs, row: MessageRow): Promise<WireMessage> {
  const whole = await withBody(blobs, row);
  return {
    id: whole.id,
    thread_id: whole.thread_id,
    direction: whole.direction,
    from_email: whole.from_email,
    from_name: whole.from_name,
    to_emails: whole.to_emails,
    cc_emails: whole.cc_emails,
    bcc_emails: whole.bcc_emails,
    reply_to: whole.reply_to,
    subject: whole.subject,
    body_text: whole.body_text,
    body_html: whole.body_html,
    extracted_text: whole.extracted_text,
    rfc_message_id: whole.rfc_message_id,
    in_reply_to: whole.in_reply_to,
    references: whole.reference_ids,
    classification: whole.classification as WireMessage["classification"],
    kind: whole.kind as WireMessage["kind"],
    generated: whole.kind === "program",
    origin: originOf(whole),
    reactions: whole.reactions,
    authentication: shownAuthentication(whole.authentication),
    delivery_status: whole.delivery_status as WireMessage["delivery_status"],
    recipients: recipientsOf(whole),
    from_blocked_contact: whole.from_blocked_contact,
    approval_link_removed: whole.approval_links === "removed",
    notes: claimsToBeColleagues(whole) ? [unprovenColleague, ...whole.notes] : whole.notes,
    draft_id: whole.draft_id,
    attachments: await Promise.all(whole.attachments.map((attachment) => presentAttachment(blobs, attachment))),
    received_at: timestampOrNull(whole.received_at),
    sent_at: timestampOrNull(whole.sent_at),
    created_at: timestamp(whole.created_at),
  };
}

/** The recipients of a mail of ours that a provider has, each with what was reported of it last. */
function recipientsOf(row: MessageRow): WireMessage["recipients"] {
  const { delivery_status: status, sent_at: sentAt } = row;
  if (row.direction === "inbound" || status === null || status === "queued") return [];
  const otherwise = { status: status === "failed" ? ("failed" as const) : ("sent" as const), code: null, text: null };
  return [...row.to_emails, ...row.cc_emails, ...row.bcc_emails].map((address) => {
    const { at, ...reported } = row.recipients[address.toLowerCase()] ?? { ...otherwise, at: sentAt };
    return { ...reported, address, at: timestampOrNull(at === null ? null : new Date(at)) };
  });
}

const originOf = (row: MessageRow): WireMessage["origin"] =>
  row.direction === "outbound" || isColleagues(row) ? "own_workspace" : "external";

export const presentMessages = (blobs: Blobs, rows: readonly MessageRow[]): Promise<WireMessage[]> =>
  Promise.all(rows.map((row) => presentMessage(blobs, row)));

/** The authentication results without ARC, which is recorded but never used as proof. */
const shownAuthentication = (known: MessageRow["authentication"]): WireMessage["authentication"] =>
  known && { spf: known.spf, dkim: known.dkim, dmarc: known.dmarc, aligned: known.aligned };

const presentAttachment = async (blobs: Blobs, attachment: StoredAttachment) => ({
  id: attachment.id,
  filename: attachment.filename,
  content_type: attachment.contentType,
  size_bytes: attachment.sizeBytes ?? (await blobs.size(attachment.sha256)) ?? 0,
  content_id: attachment.contentId,
  inline: attachment.inline,
});

/** Replaces the references to the blob store by their content. */
export async function withBody(blobs: Blobs, row: MessageRow): Promise<MessageRow> {
  if (row.content_blob !== null) {
    return { ...row, ...ofContent(await loadContent(blobs, { content: null, contentBlob: row.content_blob })) };
  }
  if (row.body_blob === null) return row;
  const bytes = await blobs.get(row.body_blob);
  if (!bytes) throw new Error(`the blob ${row.body_blob} of message ${row.id} is missing`);
  const body: MessageBody = JSON.parse(bytes.toString("utf8"));
  return { ...row, body_text: body.text, body_html: body.html, extracted_text: body.extracted };
}

const ofContent = (content: DraftContent): Partial<MessageRow> => ({
  from_email: content.from.address,
  from_name: content.from.name,
  to_emails: content.to,
  cc_emails: content.cc,
  bcc_emails: content.bcc,
  reply_to: content.reply_to === null ? [] : [content.reply_to],
  subject: content.subject,
  body_text: content.body_text,
  body_html: content.body_html,
  in_reply_to: content.in_reply_to,
  reference_ids: content.references,
  attachments: attachmentsOf(content),
});
