import type { Static } from "typebox";
import type { ThreadRow } from "#projections/threads/queries.ts";
import type { Thread } from "../schemas/threads.ts";
import { timestamp, timestampOrNull } from "./times.ts";

export type WireThread = Static<typeof Thread>;

/** Converts a thread to the contract's form, without its messages and drafts. */
export const presentThread = (row: ThreadRow): WireThread => ({
  ...row,
  status: row.status as WireThread["status"],
  priority: row.priority as WireThread["priority"],
  last_message_at: timestampOrNull(row.last_message_at),
  created_at: timestamp(row.created_at),
  updated_at: timestamp(row.updated_at),
});

/** A merged thread: its own id with the content of the thread it was merged into. */
export const presentMerged = (own: ThreadRow, survivor: ThreadRow): WireThread => ({
  ...presentThread(survivor),
  id: own.id,
  merged_into: own.merged_into,
});
