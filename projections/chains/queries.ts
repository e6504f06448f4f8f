import type { Reads } from "../reads.ts";

/** Result of a look-up in the index, and the revision of `filing-<identity>` up to which it is built (-1: none). */
export type KnownChains = {
  revision: number;
  /** Message-ID → the thread it leads to now. */
  threadOf: Map<string, string>;
  /** Thread → the filing number that opened it. */
  openedNumber: Map<string, number>;
  /** Message-ID → the thread on which a mail of ours was sent under it, for ids that a mail named before a relay did. */
  sentOn: Map<string, string>;
  /** Message-ID → the attempt that sent a mail of ours under it, for ids that a relay gave. */
  attemptOf: Map<string, string>;
};

/** Looks up the threads of these Message-IDs for one identity. */
export async function chainsOf(
  reads: Reads,
  identityId: string,
  rfcMessageIds: readonly string[],
): Promise<KnownChains> {
  const { rows } = await reads.ofNone.query<{
    rfc_message_id: string | null;
    thread_id: string | null;
    opened_number: number | null;
    attempt_id: string | null;
    sent_on: string | null;
    sent_on_opened: number | null;
    revision: number | null;
  }>(
    `select c.rfc_message_id, c.attempt_id, coalesce(g.survivor_id, c.thread_id) as thread_id, t.opened_number,
       coalesce(sent_g.survivor_id, c.sent_on) as sent_on, sent_t.opened_number as sent_on_opened, p.revision
     from (select (select revision from chain_progress where identity_id = $1) as revision) p
     left join chain_ids c on c.identity_id = $1 and c.rfc_message_id = any($2::text[])
     left join chain_merged m on m.thread_id = c.thread_id
     left join chain_groups g on g.group_id = m.group_id
     left join chain_threads t on t.thread_id = coalesce(g.survivor_id, c.thread_id)
     left join chain_merged sent_m on sent_m.thread_id = c.sent_on
     left join chain_groups sent_g on sent_g.group_id = sent_m.group_id
     left join chain_threads sent_t on sent_t.thread_id = coalesce(sent_g.survivor_id, c.sent_on)`,
    [identityId, rfcMessageIds],
  );
  const threadOf = new Map<string, string>();
  const openedNumber = new Map<string, number>();
  const attemptOf = new Map<string, string>();
  const sentOn = new Map<string, string>();
  for (const row of rows) {
    if (row.rfc_message_id === null || row.thread_id === null) continue;
    threadOf.set(row.rfc_message_id, row.thread_id);
    openedNumber.set(row.thread_id, row.opened_number ?? 0);
    if (row.attempt_id !== null) attemptOf.set(row.rfc_message_id, row.attempt_id);
    if (row.sent_on === null) continue;
    sentOn.set(row.rfc_message_id, row.sent_on);
    openedNumber.set(row.sent_on, row.sent_on_opened ?? 0);
  }
  return { revision: rows[0]?.revision ?? -1, threadOf, openedNumber, attemptOf, sentOn };
}

/** Returns the survivor of each thread, and the filing number that opened the survivor; 0 if a mail of ours did. */
export async function survivorsOf(
  reads: Reads,
  threadIds: readonly string[],
): Promise<{ threadId: string; survivorId: string; openedNumber: number }[]> {
  if (threadIds.length === 0) return [];
  const { rows } = await reads.ofNone.query<{ thread_id: string; survivor_id: string; opened_number: number }>(
    `select i.thread_id, coalesce(g.survivor_id, i.thread_id) as survivor_id,
       coalesce(t.opened_number, 0) as opened_number
     from unnest($1::uuid[]) as i (thread_id)
     left join chain_merged m on m.thread_id = i.thread_id
     left join chain_groups g on g.group_id = m.group_id
     left join chain_threads t on t.thread_id = coalesce(g.survivor_id, i.thread_id)`,
    [threadIds],
  );
  return rows.map((row) => ({
    threadId: row.thread_id,
    survivorId: row.survivor_id,
    openedNumber: row.opened_number,
  }));
}

/** Returns the filing numbers that opened these threads; 0 if a mail of ours did. */
export async function openedNumbersOf(reads: Reads, threadIds: readonly string[]): Promise<Map<string, number>> {
  const opened = new Map(threadIds.map((threadId) => [threadId, 0]));
  if (threadIds.length === 0) return opened;
  const { rows } = await reads.ofNone.query<{ thread_id: string; opened_number: number }>(
    "select thread_id, opened_number from chain_threads where thread_id = any($1::uuid[])",
    [threadIds],
  );
  for (const row of rows) opened.set(row.thread_id, row.opened_number);
  return opened;
}

/** A message by its Message-ID and content digest; `messageId` null: only other messages have the Message-ID. */
export type KnownMessage = { rfcMessageId: string; contentDigest: string; messageId: string | null };

/**
 * Returns those mails whose Message-ID is known, with the identical message if there is one; one row each, however many messages have the
 * id.
 */
export async function messagesWithIds(
  reads: Reads,
  identityId: string,
  mails: readonly Pick<KnownMessage, "rfcMessageId" | "contentDigest">[],
): Promise<KnownMessage[]> {
  const { rows } = await reads.ofNone.query<{
    rfc_message_id: string;
    content_digest: string;
    message_id: string | null;
  }>(
    `select asked.rfc_message_id, asked.content_digest, same.message_id
     from unnest($2::text[], $3::text[]) as asked (rfc_message_id, content_digest)
     left join chain_messages same on same.identity_id = $1
       and same.rfc_message_id = asked.rfc_message_id and same.content_digest = asked.content_digest
     where same.message_id is not null or exists (
       select from chain_messages other where other.identity_id = $1 and other.rfc_message_id = asked.rfc_message_id
     )`,
    [identityId, mails.map(({ rfcMessageId }) => rfcMessageId), mails.map(({ contentDigest }) => contentDigest)],
  );
  return rows.map((row) => ({
    rfcMessageId: row.rfc_message_id,
    contentDigest: row.content_digest,
    messageId: row.message_id,
  }));
}
