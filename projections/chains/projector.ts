import type { DeliveryEvent } from "#streams/delivery/events.ts";
import { idOf, type Recorded } from "#streams/event.ts";
import type { FilingDecision, FilingEvent } from "#streams/filing/events.ts";
import type { Projection, ProjectorTx } from "../projection.ts";
import { jsonRows } from "../rows.ts";
import { addMerges } from "./merges.ts";

/** Maximum length of an indexed Message-ID. Longer ones do not fit into an index entry and do not occur in practice. */
const longestIndexedId = 900;

/**
 * Threads by Message-ID, per identity: an id known to another identity means nothing. Built from filing decisions, so that a filer can
 * bring it up to date by reading `filing-<identity>`, and from providers' reports of our own mail's Message-IDs, which may arrive late.
 */
export const chains: Projection<FilingEvent | DeliveryEvent> = {
  name: "chains",
  version: 5,
  tables: ["chain_ids", "chain_messages", "chain_merged", "chain_groups", "chain_threads", "chain_progress"],
  handles: [
    "FilingDecided",
    "MailFiled",
    "MailQuarantined",
    "HeldMailExpired",
    "QuarantinedMailExpired",
    "DeliveryMessageIdLearned",
  ],
  async project(tx, events) {
    const decisions = events
      .filter((event) => event.type === "FilingDecided")
      .map((event) => ({ ...event.data, identityId: idOf(event.stream) }));
    addThreads(tx, decisions);
    addIds(tx, events);
    addMessages(tx, decisions);
    await addMerges(tx, decisions);
    moveProgress(
      tx,
      events.filter((event) => event.type !== "DeliveryMessageIdLearned"),
    );
  },
};

type Decision = FilingDecision & { identityId: string };

function addThreads(tx: ProjectorTx, decisions: readonly Decision[]): void {
  const rows = decisions
    .filter((decision) => decision.opensThread)
    .map(({ threadId, number }) => ({ thread_id: threadId, opened_number: number }));
  if (rows.length === 0) return;
  tx.write(
    "insert into chain_threads select * from json_populate_recordset(null::chain_threads, $1::json) on conflict do nothing",
    [jsonRows(rows)],
  );
}

type IdRow = { identity_id: string; rfc_message_id: string; thread_id: string; attempt_id?: string };

/** Adds the ids in the order of the log: the first event that names an id decides to which thread it leads. */
function addIds(tx: ProjectorTx, events: readonly Recorded<FilingEvent | DeliveryEvent>[]): void {
  const rows = events.flatMap(idsIn).filter(({ rfc_message_id }) => rfc_message_id.length <= longestIndexedId);
  if (rows.length === 0) return;
  // A Message-ID stays with the thread on which it was first seen; merges lead from that thread to the survivor.
  tx.write(
    `insert into chain_ids select * from json_populate_recordset(null::chain_ids, $1::json)
     on conflict do nothing`,
    [jsonRows(rows)],
  );
  const learned = rows.filter(({ attempt_id }) => attempt_id !== undefined);
  if (learned.length === 0) return;
  // A mail may have named the id before its relay did.
  tx.write(
    `update chain_ids set attempt_id = learned.attempt_id, sent_on = nullif(learned.thread_id, chain_ids.thread_id)
     from json_populate_recordset(null::chain_ids, $1::json) as learned
     where chain_ids.identity_id = learned.identity_id and chain_ids.rfc_message_id = learned.rfc_message_id
       and chain_ids.attempt_id is null`,
    [jsonRows(learned)],
  );
}

function idsIn(event: Recorded<FilingEvent | DeliveryEvent>): IdRow[] {
  if (event.type === "FilingDecided") {
    const { chainIds, threadId } = event.data;
    return chainIds.map((id) => ({ identity_id: idOf(event.stream), rfc_message_id: id, thread_id: threadId }));
  }
  if (event.type !== "DeliveryMessageIdLearned") return [];
  const { identityId, rfcMessageId, threadId } = event.data;
  const attempt = { thread_id: threadId, attempt_id: idOf(event.stream) };
  return [{ identity_id: identityId, rfc_message_id: rfcMessageId, ...attempt }];
}

function addMessages(tx: ProjectorTx, decisions: readonly Decision[]): void {
  const rows = decisions
    .filter(({ disposition, rfcMessageId }) => disposition !== "duplicate" && rfcMessageId.length <= longestIndexedId)
    .map(({ identityId, rfcMessageId, contentDigest, messageId }) => ({
      identity_id: identityId,
      rfc_message_id: rfcMessageId,
      content_digest: contentDigest,
      message_id: messageId,
    }));
  if (rows.length === 0) return;
  tx.write(
    `insert into chain_messages select * from json_populate_recordset(null::chain_messages, $1::json)
     on conflict do nothing`,
    [jsonRows(rows)],
  );
}

function moveProgress(tx: ProjectorTx, events: readonly Recorded[]): void {
  const newest = new Map(events.map((event) => [idOf(event.stream), event.revision]));
  const rows = [...newest].map(([identity_id, revision]) => ({ identity_id, revision }));
  tx.write(
    `insert into chain_progress select * from json_populate_recordset(null::chain_progress, $1::json)
     on conflict (identity_id) do update set revision = excluded.revision`,
    [jsonRows(rows)],
  );
}
