import { type ChangeMarks, changeMarks, type Topic } from "#projections/changeMarks.ts";
import type { Reads } from "#projections/reads.ts";
import { createTail, type Tail } from "../../framework/tail.ts";

/** Wakes the pages that are open in a workspace when something in it has changed, and can be read. */
export const createChangeTail = (deps: { reads: Reads; checkpoint: () => Promise<number> }): Tail<ChangeMarks> =>
  createTail({
    look: (workspaceId) => changeMarks(deps.reads, workspaceId),
    isBeyond: (end, seen) => changedTopics(seen, end).length > 0,
    checkpoint: deps.checkpoint,
  });

/** What moved from one look to the next. */
export const changedTopics = (before: ChangeMarks, after: ChangeMarks): Topic[] =>
  (Object.keys(after) as Topic[]).filter((topic) => after[topic] !== before[topic]);
