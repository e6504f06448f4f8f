import type { DeliveryEvent } from "#streams/delivery/events.ts";
import type { DraftEvent } from "#streams/draft/events.ts";
import { idOf, type Recorded } from "#streams/event.ts";
import { isWord } from "#streams/inbox/mailKinds.ts";
import type { HeldMessage, ThreadEvent } from "#streams/thread/events.ts";
import { moveRowsToSurvivors } from "../merges.ts";
import type { ProjectorTx } from "../projection.ts";
import { upsertRows } from "../rows.ts";

/** Events from which the messages of a thread are made. */
export type MessagesEvent = ThreadEvent | DraftEvent | DeliveryEvent;

const columns = ["id", "workspace_id", "thread_id", "filing_number", "from_email", "from_name", "received_at"] as const;

/**
 * Maintains markers of held messages from people: that there is a newer one, until it is released. A machine's mail does not count as the
 * customer's message.
 */
export function updateHeldMarkers(tx: ProjectorTx, events: readonly Recorded<MessagesEvent>[]): void {
  const held = new Map<string, Record<string, unknown>>();
  const released: string[] = [];
  for (const event of events) {
    if (event.type === "MessageReceived") {
      held.delete(event.data.messageId);
      released.push(event.data.messageId);
    } else if (event.type === "MessageHeld") {
      if (isWord(event.data)) held.set(event.data.messageId, row(event, event.data));
    }
  }
  if (released.length > 0) tx.write("delete from held_messages where id = any($1::uuid[])", [released]);
  upsertRows(tx, { table: "held_messages", columns }, [...held.values()]);
  moveRowsToSurvivors(
    tx,
    { table: "held_messages", merges: "message_thread_merges" },
    { events, written: [...held.keys()] },
  );
}

const row = (event: Recorded, { messageId, number, from, receivedAt }: HeldMessage): Record<string, unknown> => ({
  id: messageId,
  workspace_id: event.metadata.workspaceId,
  thread_id: idOf(event.stream),
  filing_number: number,
  from_email: from?.address ?? "",
  from_name: from?.name || null,
  received_at: receivedAt,
});
