import { idOf, type Recorded } from "#streams/event.ts";
import { isWord } from "#streams/inbox/words.ts";
import type { HeldMessage } from "#streams/thread/events.ts";
import { followMerges } from "../merges.ts";
import type { Tx } from "../projection.ts";
import { upsertRows } from "../rows.ts";

const columns = ["id", "workspace_id", "thread_id", "filing_number", "from_email", "from_name", "received_at"] as const;

/** Keeps the markers of held words: that there is something newer, until it is released. A machine's mail is nobody's word. */
export async function followHeld(tx: Tx, events: readonly Recorded[]): Promise<void> {
  const held = new Map<string, Record<string, unknown>>();
  const released: string[] = [];
  for (const event of events) {
    if (event.type === "MessageReceived") {
      held.delete(event.data.messageId as string);
      released.push(event.data.messageId as string);
    } else if (event.type === "MessageHeld") {
      const message = event.data as unknown as HeldMessage;
      if (isWord(message.classification)) held.set(message.messageId, row(event, message));
    }
  }
  if (released.length > 0) await tx.query("delete from held_messages where id = any($1::uuid[])", [released]);
  await upsertRows(tx, "held_messages", ["id"], columns, [...held.values()]);
  await followMerges(tx, { table: "held_messages", merges: "message_thread_merges" }, events, [...held.keys()]);
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
