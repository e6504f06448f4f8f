import type { ApprovalReplyEvent } from "#streams/approvalReply/events.ts";
import { idOf, type Recorded } from "#streams/event.ts";
import type { FilingEvent } from "#streams/filing/events.ts";
import type { InboxEvent } from "#streams/inbox/events.ts";
import type { StrayMailEvent } from "#streams/strayMail/events.ts";
import type { ThreadEvent } from "#streams/thread/events.ts";
import { isFirstMergePart } from "../merges.ts";
import type { Projection, ProjectorTx } from "../projection.ts";
import { jsonRows, upsertRows } from "../rows.ts";
import { countChanges } from "./counts.ts";
import { writePutAside } from "./putAsideRows.ts";

const columns = [
  "id",
  "workspace_id",
  "identity_id",
  "received_at",
  "position",
  "inbox_revision",
  "envelope_from",
  "envelope_to",
  "disposition",
  "rfc_message_id",
  "raw_sha256",
  "size_bytes",
  "reason",
] as const;

const decidedSql = `
update inbound set disposition = d.disposition, message_id = d.message_id, reason = d.reason, filing_number = d.number,
  filing_revision = d.revision, filed_position = null, thread_id = d.thread_id, thread_since = d.position, answered = false
from json_to_recordset($1::json) as d (delivery_id uuid, disposition text, message_id uuid, reason text, number int,
  revision int, thread_id uuid, position bigint)
where inbound.id = d.delivery_id`;

/** Held mail and duplicates do not change. A mail that was decided again since, by a release, is another filing. */
const quarantinedSql = `
update inbound set disposition = 'quarantined', reason = q.reason, filing_revision = q.revision
from json_to_recordset($1::json) as q (delivery_id uuid, number int, reason text, revision int)
where inbound.id = q.delivery_id and inbound.filing_number = q.number and inbound.disposition in ('threaded', 'quarantined')`;

const filedSql = `
update inbound set filed_position = f.position, thread_id = f.thread_id, thread_since = f.position, answered = false
from json_to_recordset($1::json) as f (delivery_id uuid, thread_id uuid, position bigint)
where inbound.id = f.delivery_id`;

/** The earlier reason, why it was held or could not be read, stays in front. */
const expiredSql = `
update inbound set expired_after_days = e.days,
  reason = concat_ws('; ', reason, 'its content was removed after ' || e.days || case e.days when 1 then ' day' else ' days' end)
from json_to_recordset($1::json) as e (delivery_id uuid, days int)
where inbound.id = e.delivery_id and inbound.expired_after_days is null`;

const answeredSql = `
update inbound set answered = true
from json_to_recordset($1::json) as a (thread_id uuid, position bigint)
where inbound.thread_id = a.thread_id and not inbound.answered and inbound.thread_since < a.position`;

const mergedSql = `
update inbound set thread_id = $1, thread_since = $2
where thread_id = $3 and not answered and thread_since < $2`;

const dispositions = {
  MailReceived: "received",
  ApprovalReplyReceived: "approval_reply",
  UnknownRecipientReceived: "unknown_recipient",
} as const;

/** Ledger of all received mail: one row per delivery, whatever its outcome. */
export const inbound: Projection<InboxEvent | ApprovalReplyEvent | StrayMailEvent | FilingEvent | ThreadEvent> = {
  name: "inbound",
  version: 10,
  tables: ["inbound", "inbound_counts"],
  hasLateIndexes: true,
  handles: [
    "MailReceived",
    "ApprovalReplyReceived",
    "UnknownRecipientReceived",
    "FilingDecided",
    "MailQuarantined",
    "HeldMailExpired",
    "QuarantinedMailExpired",
    "MessageHeld",
    "MessageReceived",
    "MessageFiledByHand",
    "ReactionReceived",
    "MessageSent",
    "ThreadStatusChanged",
    "ThreadAbsorbed",
  ],
  async project(tx, events) {
    const received: Record<string, unknown>[] = [];
    // A mail may be held and released within one batch: the newest state of each delivery counts.
    const decided = new Map<string, Record<string, unknown>>();
    const quarantined = new Map<string, Record<string, unknown>>();
    const expired = new Map<string, Record<string, unknown>>();
    const filed = new Map<string, Record<string, unknown>>();
    for (const event of events) {
      const { type, data } = event;
      if (type === "MailReceived" || type === "ApprovalReplyReceived" || type === "UnknownRecipientReceived") {
        // Mail that belongs to no workspace is in no ledger.
        if (data.workspaceId === null) continue;
        received.push({
          id: data.deliveryId,
          workspace_id: data.workspaceId,
          identity_id: type === "UnknownRecipientReceived" ? null : data.identityId,
          received_at: event.metadata.at,
          position: event.position,
          inbox_revision: event.revision,
          envelope_from: data.envelope.from,
          envelope_to: data.envelope.to,
          disposition: dispositions[type],
          reason: type === "UnknownRecipientReceived" ? "no identity has this address" : null,
          rfc_message_id: data.headers.messageId,
          raw_sha256: data.rawSha256,
          size_bytes: data.sizeBytes,
        });
      } else if (type === "FilingDecided") {
        const { deliveryId, disposition, messageId, reason, number, threadId: thread_id } = data;
        const place = { number, revision: event.revision, thread_id, position: event.position };
        decided.set(deliveryId, { delivery_id: deliveryId, disposition, message_id: messageId, reason, ...place });
        filed.delete(deliveryId);
      } else if (type === "MailQuarantined") {
        const { deliveryId, number, reason } = data;
        quarantined.set(deliveryId, { delivery_id: deliveryId, number, reason, revision: event.revision });
      } else if (type === "HeldMailExpired" || type === "QuarantinedMailExpired") {
        for (const id of data.deliveryIds) expired.set(id, { delivery_id: id, days: data.afterDays });
      } else if (type === "MessageReceived" || type === "MessageHeld") {
        const place = { thread_id: idOf(event.stream), position: event.position };
        filed.set(data.deliveryId, { delivery_id: data.deliveryId, ...place });
      }
    }
    const changed = [...new Set([...received.map(({ id }) => id), ...decided.keys(), ...quarantined.keys()])];
    countChanges(tx, changed as string[], () => {
      upsertRows(tx, { table: "inbound", columns }, received);
      if (decided.size > 0) tx.write(decidedSql, [jsonRows([...decided.values()])]);
      if (quarantined.size > 0) tx.write(quarantinedSql, [jsonRows([...quarantined.values()])]);
    });
    if (expired.size > 0) tx.write(expiredSql, [jsonRows([...expired.values()])]);
    if (filed.size > 0) tx.write(filedSql, [jsonRows([...filed.values()])]);
    writePutAside(tx, events);
    noteAnswers(tx, events);
  },
};

/**
 * Marks mail as answered by a later send on its thread, or its closing. A merge moves unanswered mail, so earlier answers are recorded
 * first: a batch has the same result as its events one by one.
 */
function noteAnswers(tx: ProjectorTx, events: readonly Recorded[]): void {
  let answers = new Map<string, number>();
  const write = (): void => {
    const rows = [...answers].map(([thread_id, position]) => ({ thread_id, position }));
    if (rows.length > 0) tx.write(answeredSql, [jsonRows(rows)]);
    answers = new Map();
  };
  for (const event of events) {
    const { type, data, position } = event;
    const thread = idOf(event.stream);
    if (type === "MessageSent" || (type === "ThreadStatusChanged" && data.status === "closed"))
      answers.set(thread, position);
    if (!isFirstMergePart(event)) continue;
    write();
    tx.write(mergedSql, [thread, position, data.absorbedId]);
  }
  write();
}
