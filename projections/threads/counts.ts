import type { Counts } from "../counts.ts";

/** How many threads a list has by what it is mostly asked for; merged ones are in none. */
export const threadCounts: Counts = {
  table: "thread_counts",
  dimensions: ["workspace_id", "identity_id", "status", "needs_review", "priority"],
};
