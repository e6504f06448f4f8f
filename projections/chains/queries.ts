import type { Reads } from "../reads.ts";

/** What the index knows, and up to which revision of `filing-<identity>` it does (-1: nothing yet). */
export type KnownChains = {
  revision: number;
  /** Message-ID → the thread it leads to today. */
  threadOf: Map<string, string>;
  /** Thread → the filing number that opened it. */
  openedNumber: Map<string, number>;
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
    revision: number | null;
  }>(
    `select c.rfc_message_id, coalesce(m.survivor_id, c.thread_id) as thread_id, t.opened_number, p.revision
     from (select (select revision from chain_progress where identity_id = $1) as revision) p
     left join chain_ids c on c.identity_id = $1 and c.rfc_message_id = any($2::text[])
     left join chain_merges m on m.thread_id = c.thread_id
     left join chain_threads t on t.thread_id = coalesce(m.survivor_id, c.thread_id)`,
    [identityId, rfcMessageIds],
  );
  const threadOf = new Map<string, string>();
  const openedNumber = new Map<string, number>();
  for (const row of rows) {
    if (row.rfc_message_id === null || row.thread_id === null) continue;
    threadOf.set(row.rfc_message_id, row.thread_id);
    openedNumber.set(row.thread_id, row.opened_number ?? 0);
  }
  return { revision: rows[0]?.revision ?? -1, threadOf, openedNumber };
}

/** What became of threads: who survives of each, and the filing number that opened that survivor; 0 where a mail of ours did. */
export async function survivorsOf(
  reads: Reads,
  threadIds: readonly string[],
): Promise<{ threadId: string; survivorId: string; openedNumber: number }[]> {
  if (threadIds.length === 0) return [];
  const { rows } = await reads.ofNone.query<{ thread_id: string; survivor_id: string; opened_number: number }>(
    `select i.thread_id, coalesce(m.survivor_id, i.thread_id) as survivor_id,
       coalesce(t.opened_number, 0) as opened_number
     from unnest($1::uuid[]) as i (thread_id)
     left join chain_merges m on m.thread_id = i.thread_id
     left join chain_threads t on t.thread_id = coalesce(m.survivor_id, i.thread_id)`,
    [threadIds],
  );
  return rows.map((row) => ({
    threadId: row.thread_id,
    survivorId: row.survivor_id,
    openedNumber: row.opened_number,
  }));
}

export type KnownMessage = { rfcMessageId: string; contentDigest: string; messageId: string };

/** Every message filed so far under one of these Message-IDs. */
export async function messagesWithIds(
  reads: Reads,
  identityId: string,
  rfcMessageIds: readonly string[],
): Promise<KnownMessage[]> {
  const { rows } = await reads.ofNone.query<{ rfc_message_id: string; content_digest: string; message_id: string }>(
    `select rfc_message_id, content_digest, message_id from chain_messages
     where identity_id = $1 and rfc_message_id = any($2::text[])`,
    [identityId, rfcMessageIds],
  );
  return rows.map((row) => ({
    rfcMessageId: row.rfc_message_id,
    contentDigest: row.content_digest,
    messageId: row.message_id,
  }));
}
