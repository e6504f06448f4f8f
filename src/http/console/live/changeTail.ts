import { type ChangeMarks, changeMarks, type Topic } from "#projections/changeMarks.ts";
import type { Reads } from "#projections/reads.ts";
import { createTail, type Tail } from "../../framework/longPolling.ts";

/** Notifies open pages of a workspace of changes, once the read models have them. */
export const createChangeTail = (deps: { reads: Reads; checkpoint: () => Promise<number> }): Tail<ChangeMarks> =>
  createTail({
    look: (workspaceId) => changeMarks(deps.reads, workspaceId),
    isBeyond: (end, seen) => changedTopics(seen, end).length > 0,
    checkpoint: deps.checkpoint,
  });

/** The topics that changed between two reads. */
export const changedTopics = (before: ChangeMarks, after: ChangeMarks): Topic[] =>
  (Object.keys(after) as Topic[]).filter((topic) => after[topic] !== before[topic]);
