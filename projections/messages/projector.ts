import type { Recorded } from "#streams/event.ts";
import { moveRowsToSurvivors } from "../merges.ts";
import type { Projection, ProjectorTx } from "../projection.ts";
import { jsonRows, upsertRows } from "../rows.ts";
import { type MessagesEvent, updateHeldMarkers } from "./held.ts";
import { writeReactions } from "./reactions.ts";
import { writeRecipients } from "./recipients.ts";
import { messageColumns, messageOf, outcomeOf } from "./row.ts";

export const messages: Projection<MessagesEvent> = {
  name: "messages",
  version: 12,
  tables: ["messages", "held_messages", "message_thread_merges"],
  hasLateIndexes: true,
  handles: [
    "MessageReceived",
    "MessageHeld",
    "MessageAuthenticated",
    "MessageFiledByHand",
    "ReactionReceived",
    "ThreadAbsorbed",
    "DraftQueued",
    "DraftSent",
    "DraftFailed",
    "DraftMarkedStale",
    "LateEvidence",
    "DeliveryDelivered",
    "DeliveryDelayed",
    "DeliveryDropped",
    "DeliveryBounced",
    "DeliveryComplained",
  ],
  async project(tx, events) {
    const rows = events.map(messageOf).filter((row) => row !== undefined);
    writeMessages(tx, rows, authenticationsIn(events));
    writeReactions(tx, events);
    writeFiledByHand(tx, events);
    updateHeldMarkers(tx, events);
    followDeliveries(tx, events);
    writeRecipients(tx, events);
    const written = rows.map((row) => row.id as string);
    moveRowsToSurvivors(tx, { table: "messages", merges: "message_thread_merges" }, { events, written });
  },
};

type Authenticated = { authentication: unknown; from_workspace: boolean };

/** Returns what these events say about authentication, by message. */
const authenticationsIn = (events: readonly Recorded<MessagesEvent>[]): Map<string, Authenticated> =>
  new Map(
    events
      .filter((event) => event.type === "MessageAuthenticated")
      .map(({ data: { messageId, authentication, fromWorkspace = false } }) => [
        messageId,
        { authentication, from_workspace: fromWorkspace },
      ]),
  );

/** Writes new messages with their authentication, if it is known, and the authentication of earlier ones. */
function writeMessages(
  tx: ProjectorTx,
  rows: readonly Record<string, unknown>[],
  authentications: ReadonlyMap<string, Authenticated>,
): void {
  const isKnown = ({ id }: Record<string, unknown>): boolean => authentications.has(id as string);
  const authenticated = rows.filter(isKnown).map((row) => ({ ...row, ...authentications.get(row.id as string) }));
  upsertRows(
    tx,
    { table: "messages", columns: messageColumns },
    rows.filter((row) => !isKnown(row)),
  );
  upsertRows(
    tx,
    { table: "messages", columns: [...messageColumns, "authentication", "from_workspace"] },
    authenticated,
  );
  const written = new Set(rows.map(({ id }) => id));
  const earlier = [...authentications].filter(([id]) => !written.has(id));
  if (earlier.length === 0) return;
  tx.write(
    `update messages set authentication = a.authentication, from_workspace = a.from_workspace
     from json_to_recordset($1::json) as a (id uuid, authentication json, from_workspace boolean)
     where messages.id = a.id`,
    [jsonRows(earlier.map(([id, authenticated]) => ({ id, ...authenticated })))],
  );
}

/** Makes messages that a person filed by hand the customer's word. */
function writeFiledByHand(tx: ProjectorTx, events: readonly Recorded<MessagesEvent>[]): void {
  const ids = events.filter((event) => event.type === "MessageFiledByHand").map(({ data }) => data.messageId);
  if (ids.length === 0) return;
  tx.write("update messages set kind = 'filed_by_hand', classification = 'person' where id = any($1::uuid[])", [ids]);
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
