import type { Actor, Recorded } from "#streams/event.ts";
import { type FilingEvent, handOverReason } from "#streams/filing/events.ts";
import { isWord, kindOf, type PutAside } from "#streams/inbox/mailKinds.ts";
import type { ThreadEvent } from "#streams/thread/events.ts";
import type { ProjectorTx } from "../projection.ts";
import { jsonRows } from "../rows.ts";

/** The person or key that filed a mail as a message. `at`: ISO time. */
export type FiledBy = Pick<Actor, "kind" | "id" | "name"> & { at: string };

type Facts = { put_aside?: PutAside; reaction?: { emoji: string; from: string }; filed_by?: FiledBy };

/** Marks mail that is nobody's word as put aside, and as filed by hand. What is known of a delivery from before stays. */
export function writePutAside(tx: ProjectorTx, events: readonly Recorded[]): void {
  const byDelivery = new Map<string, Facts>();
  const byMessage = new Map<string, FiledBy>();
  for (const event of events as readonly Recorded<FilingEvent | ThreadEvent>[]) {
    if (event.type === "MessageFiledByHand") byMessage.set(event.data.messageId, filedBy(event));
    const found = factsIn(event);
    if (found) byDelivery.set(found.deliveryId, { ...found.facts, ...byDelivery.get(found.deliveryId) });
  }
  if (byDelivery.size > 0) {
    tx.write(
      `update inbound set put_aside = coalesce(inbound.put_aside, f.put_aside),
         reaction = coalesce(inbound.reaction, f.reaction), filed_by = coalesce(inbound.filed_by, f.filed_by)
       from json_to_recordset($1::json) as f (delivery_id uuid, put_aside text, reaction json, filed_by json)
       where inbound.id = f.delivery_id`,
      [jsonRows([...byDelivery].map(([delivery_id, facts]) => ({ delivery_id, ...facts })))],
    );
  }
  if (byMessage.size > 0) {
    tx.write(
      `update inbound set filed_by = f.filed_by
       from json_to_recordset($1::json) as f (message_id uuid, filed_by json)
       where inbound.message_id = f.message_id and inbound.put_aside is not null`,
      [jsonRows([...byMessage].map(([message_id, filed_by]) => ({ message_id, filed_by })))],
    );
  }
}

function factsIn(event: Recorded<FilingEvent | ThreadEvent>): { deliveryId: string; facts: Facts } | undefined {
  switch (event.type) {
    case "FilingDecided": {
      const { deliveryId, disposition, kind, reviewReason, byHand } = event.data;
      if (byHand) return { deliveryId, facts: { filed_by: filedBy(event) } };
      if (disposition === "own_copy" || disposition === "reaction")
        return { deliveryId, facts: { put_aside: disposition } };
      const isHandOver = disposition === "threaded" && kind === "colleague" && reviewReason === handOverReason;
      return isHandOver ? { deliveryId, facts: { put_aside: "hand_over" } } : undefined;
    }
    case "MessageReceived": {
      const { deliveryId, quarantined } = event.data;
      const isAside = !quarantined && !isWord(event.data);
      return isAside ? { deliveryId, facts: { put_aside: kindOf(event.data) as PutAside } } : undefined;
    }
    case "ReactionReceived": {
      const { deliveryId, emoji, from } = event.data;
      return { deliveryId, facts: { reaction: { emoji, from } } };
    }
    default:
      return undefined;
  }
}

function filedBy({ metadata: { actor, at } }: Recorded): FiledBy {
  const { kind, id, name } = actor;
  return { kind, id, ...(name !== undefined && { name }), at };
}
