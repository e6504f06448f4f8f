import { isWord, isWordSql, type MailKind } from "#streams/inbox/mailKinds.ts";
import type { Authentication, InboundMessage, MessagePlace } from "#streams/thread/events.ts";
import { type Order, readPage, type Window } from "../page.ts";
import type { Reads } from "../reads.ts";
import { rowById } from "../rowById.ts";
import type { StoredAttachment } from "./attachments.ts";
import { type Newer, newerHeld } from "./heldRows.ts";
import type { ReportedRecipients } from "./recipients.ts";

export type { StoredAttachment } from "./attachments.ts";
export { type HeldRow, heldById, heldOfThread, newerHeld } from "./heldRows.ts";
export { numberInThread } from "./numberInThread.ts";
export { claimsToBeColleagues, isColleagues, type WhoseMail, whoseMail } from "./whoseMail.ts";

/** A message as stored. A body too large for an event is in a blob (`body_blob`, `content_blob`): http reads it from there. */
export type MessageRow = {
  id: string;
  workspace_id: string;
  identity_id: string;
  thread_id: string;
  direction: "inbound" | "outbound";
  filing_number: number | null;
  classification: string | null;
  /** Whose mail it is (streams/inbox/mailKinds.ts); null for a mail of ours. */
  kind: MailKind | null;
  /** The other identity of the workspace that sent it, proved by its Message-ID; null if none did. */
  sent_by: string | null;
  /** True if the sender's address was an identity's of the workspace when the mail was authenticated. */
  from_workspace: boolean;
  reactions: { emoji: string; from: string; at: string }[];
  /** What was reported of single recipients of a mail of ours, by address in lower case. */
  recipients: ReportedRecipients;
  from_email: string;
  from_name: string | null;
  to_emails: string[];
  cc_emails: string[];
  bcc_emails: string[];
  reply_to: string[];
  subject: string;
  body_text: string | null;
  body_html: string | null;
  extracted_text: string | null;
  body_blob: string | null;
  content_blob: string | null;
  rfc_message_id: string | null;
  in_reply_to: string | null;
  reference_ids: string[];
  received_at: Date | null;
  sent_at: Date | null;
  delivery_status: string | null;
  draft_id: string | null;
  raw_sha256: string | null;
  attachments: StoredAttachment[];
  quarantined: boolean;
  /** Sender authentication; null until it is known. */
  authentication: Authentication | null;
  from_blocked_contact: boolean;
  /** State of its approval links: removed, or not searched for completely; null if there were none. */
  approval_links: InboundMessage["approvalLinks"] | null;
  notes: string[];
  created_at: Date;
};

const columns = `id, workspace_id, identity_id, thread_id, direction, filing_number, classification, kind, sent_by, from_workspace, reactions, recipients,
  from_email,
  from_name, to_emails, cc_emails, bcc_emails, reply_to, subject, body_text, body_html, extracted_text, body_blob,
  content_blob, rfc_message_id, in_reply_to, reference_ids, received_at, sent_at, delivery_status, draft_id,
  raw_sha256, attachments, quarantined, authentication, from_blocked_contact, approval_links, notes, created_at`;

export const messageById = (reads: Reads, workspaceId: string, id: string) =>
  rowById<MessageRow>(reads, workspaceId, { id, select: columns, from: "messages" });

const inTime = (direction: Order["direction"]): Order => ({ columns: ["created_at", "id"], direction });

/** Returns the location of an inbound message in the log; null for one of ours, undefined if this workspace has none with this id. */
export async function positionOfMessage(
  reads: Reads,
  workspaceId: string,
  messageId: string,
): Promise<MessagePlace | null | undefined> {
  const { rows } = await reads
    .of(workspaceId)
    .query<{ placed_on: string | null; placed_at: number }>(
      "select placed_on, placed_at from messages where workspace_id = $1 and id = $2",
      [workspaceId, messageId],
    );
  const [row] = rows;
  return row && (row.placed_on === null ? null : { threadId: row.placed_on, revision: row.placed_at });
}

/** Lists all messages of a thread, oldest first unless specified otherwise. */
export const listMessages = (
  reads: Reads,
  workspaceId: string,
  { threadId, sort = "oldest", ...window }: Window & { threadId: string; sort?: "oldest" | "newest" },
) =>
  readPage<MessageRow>(reads.of(workspaceId), {
    select: columns,
    from: "messages",
    where: ["workspace_id = $1", "thread_id = $2"],
    values: [workspaceId, threadId],
    order: inTime(sort === "newest" ? "desc" : "asc"),
    window,
  });

/**
 * Returns the newest messages of a thread, oldest first: as many as its identity's history depth, `otherwise` if the identity is deleted.
 */
export async function newestMessages(
  reads: Reads,
  workspaceId: string,
  { threadId, otherwise }: { threadId: string; otherwise: number },
): Promise<{ messages: MessageRow[]; total: number }> {
  const { rows } = await reads.of(workspaceId).query<MessageRow & { total: number }>(
    `select ${columns}, (select count(*)::int from messages where workspace_id = $1 and thread_id = $2) as total
     from messages where workspace_id = $1 and thread_id = $2
     order by created_at desc, id desc limit coalesce((
       select thread_history_depth from identities where workspace_id = $1 and deleted_at is null
         and id = (select identity_id from threads where workspace_id = $1 and id = $2)), $3)`,
    [workspaceId, threadId, otherwise],
  );
  return {
    messages: rows.map(({ total: _, ...message }) => message as MessageRow).reverse(),
    total: rows[0]?.total ?? 0,
  };
}

/** Earlier messages read, at most, and characters of each. */
const earlierMessages = 20;
const earlierCharacters = 64_000;

/** Returns the texts on a thread before one of its messages, the newest first. Texts in a blob are left out. */
export async function textsBefore(
  reads: Reads,
  workspaceId: string,
  { thread_id, created_at, id }: Pick<MessageRow, "thread_id" | "created_at" | "id">,
): Promise<string[]> {
  const { rows } = await reads.of(workspaceId).query<{ text: string | null }>(
    `select left(body_text, ${earlierCharacters}) as text from messages
     where workspace_id = $1 and thread_id = $2 and (created_at, id) < ($3::timestamptz, $4::uuid)
     order by created_at desc, id desc limit ${earlierMessages}`,
    [workspaceId, thread_id, created_at, id],
  );
  return rows.flatMap(({ text }) => text ?? []);
}

/** Returns the newest inbound message of a thread: one from a person before any machine's. */
export async function newestInbound(
  reads: Reads,
  workspaceId: string,
  threadId: string,
): Promise<MessageRow | undefined> {
  const { rows } = await reads.of(workspaceId).query<MessageRow>(
    `select ${columns} from messages where workspace_id = $1 and thread_id = $2 and filing_number is not null
     order by (${isWordSql("kind")}) desc, filing_number desc limit 1`,
    [workspaceId, threadId],
  );
  return rows[0];
}

/** Summary of a conversation: the first characters of its newest message, and its newest sender. */
export type ConversationLine = {
  thread_id: string;
  direction: "inbound" | "outbound";
  /** Beginning of the text, at most `lineCharacters`; null if it is in a blob or there is none. */
  line: string | null;
  has_attachments: boolean;
  /** The newest sender; null if no mail has arrived yet. */
  sender_email: string | null;
  sender_name: string | null;
};

const lineCharacters = 300;

/** Returns the summaries of these threads, in no order: one query for all, two index steps for each. */
export async function conversationLines(
  reads: Reads,
  workspaceId: string,
  threadIds: readonly string[],
): Promise<ConversationLine[]> {
  const { rows } = await reads.of(workspaceId).query<ConversationLine>(
    `select asked.id as thread_id, newest.direction, newest.line, newest.has_attachments,
       sender.from_email as sender_email, sender.from_name as sender_name
     from unnest($2::uuid[]) as asked (id)
     cross join lateral (
       select direction, json_array_length(attachments) > 0 as has_attachments,
         coalesce(nullif(btrim(left(extracted_text, ${lineCharacters})), ''), left(body_text, ${lineCharacters})) as line
       from messages where workspace_id = $1 and thread_id = asked.id order by created_at desc, id desc limit 1
     ) newest
     left join lateral (
       select from_email, from_name from messages
       where workspace_id = $1 and thread_id = asked.id and filing_number is not null
       order by filing_number desc limit 1
     ) sender on true`,
    [workspaceId, threadIds],
  );
  return rows;
}

/** An inbound message, as far as needed to check whether it was answered. */
export type CameIn = {
  id: string;
  received_at: Date;
  classification: string;
  kind: MailKind;
  from_blocked_contact: boolean;
};

/** Returns the newest message from a person on a thread, the newest mail of a machine, and when a mail of ours was last sent. */
export async function lastMessagesOfThread(
  reads: Reads,
  workspaceId: string,
  threadId: string,
): Promise<{ word: CameIn | undefined; machine: CameIn | undefined; answered_at: Date | null }> {
  const newest = (condition: string) =>
    `(select id, received_at, classification, kind, from_blocked_contact from messages
      where workspace_id = $1 and thread_id = $2 and filing_number is not null and ${condition}
      order by filing_number desc limit 1)`;
  const isOne = isWordSql("kind");
  const sql = reads.of(workspaceId);
  const { rows } = await sql.query<CameIn>(`${newest(isOne)} union all ${newest(`not (${isOne})`)}`, [
    workspaceId,
    threadId,
  ]);
  const left = await sql.query<{ at: Date }>(
    `select coalesce(sent_at, created_at) as at from messages
     where workspace_id = $1 and thread_id = $2 and direction = 'outbound'
       and delivery_status in ('sent', 'delivered', 'bounced', 'complained')
     order by created_at desc, id desc limit 1`,
    [workspaceId, threadId],
  );
  return {
    word: rows.find(isWord),
    machine: rows.find((row) => !isWord(row)),
    answered_at: left.rows[0]?.at ?? null,
  };
}

/** Returns the newest inbound message from a person above a filing number, if any: it makes a draft stale. */
export async function newerHumanMessage(
  reads: Reads,
  workspaceId: string,
  { threadId, filingNumber, by }: Newer,
): Promise<MessageRow | undefined> {
  const { rows } = await reads.of(workspaceId).query<MessageRow>(
    `select ${columns} from messages where workspace_id = $1 and thread_id = $2 and filing_number > $3
       and ${isWordSql("kind")} and ($4::timestamptz is null or received_at <= $4)
     order by filing_number desc limit 1`,
    [workspaceId, threadId, filingNumber, by ?? null],
  );
  return rows[0];
}

/** Returns the id of the newest message from a person above a filing number, held or not. */
export async function newerHumanMessageId(reads: Reads, workspaceId: string, newer: Newer): Promise<string | null> {
  const [shown, held] = await Promise.all([
    newerHumanMessage(reads, workspaceId, newer),
    newerHeld(reads, workspaceId, newer),
  ]);
  const newest = (held?.filing_number ?? 0) > (shown?.filing_number ?? 0) ? held : shown;
  return newest?.id ?? null;
}
