import type { Recorded } from "#streams/event.ts";
import { moveRowsToSurvivors } from "../merges.ts";
import type { Projection, ProjectorTx } from "../projection.ts";
import { jsonRows, upsertRows } from "../rows.ts";
import { type MessagesEvent, updateHeldMarkers } from "./held.ts";
import { messageColumns, messageOf, outcomeOf } from "./row.ts";

export const messages: Projection<MessagesEvent> = {
  name: "messages",
  version: 11,
  tables: ["messages", "held_messages", "message_thread_merges"],
  handles: [
    "MessageReceived",
    "MessageHeld",
    "MessageAuthenticated",
    "ThreadAbsorbed",
    "DraftQueued",
    "DraftSent",
    "DraftFailed",
    "DraftMarkedStale",
    "LateEvidence",
    "DeliveryDelivered",
    "DeliveryDropped",
    "DeliveryBounced",
    "DeliveryComplained",
  ],
  async project(tx, events) {
    const rows = events.map(messageOf).filter((row) => row !== undefined);
    upsertRows(tx, { table: "messages", columns: messageColumns }, rows);
    noteAuthentications(tx, events);
    updateHeldMarkers(tx, events);
    followDeliveries(tx, events);
    const written = rows.map((row) => row.id as string);
    moveRowsToSurvivors(tx, { table: "messages", merges: "message_thread_merges" }, { events, written });
  },
};

function noteAuthentications(tx: ProjectorTx, events: readonly Recorded<MessagesEvent>[]): void {
  const known = events
    .filter((event) => event.type === "MessageAuthenticated")
    .map(({ data: { messageId: id, authentication } }) => [id, { id, authentication }] as const);
  if (known.length === 0) return;
  tx.write(
    `update messages set authentication = a.authentication
     from json_to_recordset($1::json) as a (id uuid, authentication json) where messages.id = a.id`,
    [jsonRows([...new Map(known).values()])],
  );
}

type StoredOutcome = { draft_id: string; status: string | null; rank: number; sent_at?: unknown; rfc_id?: unknown };

function followDeliveries(tx: ProjectorTx, events: readonly Recorded[]): void {
  const outcomes = new Map<string, StoredOutcome>();
  for (const event of events) {
    const outcome = outcomeOf(event);
    if (!outcome) continue;
    const { draftId, sentAt, rfcMessageId } = outcome;
    const before = outcomes.get(draftId);
    const newest = before && before.rank > outcome.rank ? before : outcome;
    outcomes.set(draftId, {
      ...before,
      draft_id: draftId,
      status: newest.status,
      rank: newest.rank,
      ...(sentAt ? { sent_at: sentAt, rfc_id: rfcMessageId } : {}),
    });
  }
  if (outcomes.size === 0) return;
  const all = [...outcomes.values()];
  tx.write(
    `update messages set
       delivery_status = case when o.rank >= messages.delivery_rank then o.status else messages.delivery_status end,
       delivery_rank = greatest(o.rank, messages.delivery_rank),
       sent_at = coalesce(o.sent_at, messages.sent_at),
       rfc_message_id = coalesce(o.rfc_id, messages.rfc_message_id)
     from json_to_recordset($1::json) as o (draft_id uuid, status text, rank smallint, sent_at timestamptz, rfc_id text)
     where messages.draft_id = o.draft_id and o.status is not null`,
    [jsonRows(all)],
  );
  const never = all.filter((outcome) => outcome.status === null).map((outcome) => outcome.draft_id);
  if (never.length > 0) tx.write("delete from messages where draft_id = any($1::uuid[])", [never]);
}
