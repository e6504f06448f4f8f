import { idOf, type Recorded } from "#streams/event.ts";
import { type Counts, updateCounts } from "../counts.ts";
import type { Projection, ProjectorTx } from "../projection.ts";
import { rowsById, upsertRows } from "../rows.ts";
import { threadDays, withDays } from "./dayCounts.ts";
import { applyToThreads, type StoredThread, type ThreadsEvent, threadColumns, threadOf, threadTypes } from "./row.ts";

const threadTable = { table: "threads", columns: threadColumns };

/** Counts of threads by the most common filters of lists; merged and hidden ones are not counted. */
const threadCounts: Counts = {
  table: "thread_counts",
  dimensions: ["workspace_id", "identity_id", "status", "needs_review", "priority"],
};

const isListed = (row: StoredThread): boolean => row.merged_into === null && row.shown && row.listed;

export const threads: Projection<ThreadsEvent> = {
  name: "threads",
  version: 8,
  tables: ["threads", "thread_counts", "thread_days"],
  hasLateIndexes: true,
  handles: threadTypes,
  async project(tx, events) {
    const absorbed = events.flatMap((event) => (event.type === "ThreadAbsorbed" ? [event.data.absorbedId] : []));
    const ids = [...events.map(threadOf), ...absorbed];
    const rows = await rowsById<StoredThread>(tx, threadTable, ids);
    const before = [...rows.values()].filter(isListed);
    for (const event of events) applyToThreads(rows, event);
    upsertRows(tx, threadTable, [...rows.values()]);
    const after = [...rows.values()].filter(isListed);
    updateCounts(tx, threadCounts, { before, after });
    updateCounts(tx, threadDays, { before: withDays(before), after: withDays(after) });
    followMerges(tx, events);
  },
};

/**
 * Updates merges, so that a thread merged into one that is merged again points to the last survivor and no reader has to follow a chain.
 */
function followMerges(tx: ProjectorTx, events: readonly Recorded<ThreadsEvent>[]): void {
  for (const event of events) {
    if (event.type !== "ThreadFrozen") continue;
    tx.write("update threads set merged_into = $1 where merged_into = $2", [event.data.survivorId, idOf(event.stream)]);
  }
}
