import { type FeedPlace, feedEnd } from "#projections/feed/queries.ts";
import type { Reads } from "#projections/reads.ts";
import { createTail, type Tail } from "../framework/tail.ts";

/** Wakes the clients that wait at the end of a workspace's feed: what is at or before the end can be read. */
export type FeedTail = Tail<FeedPlace>;

export const createFeedTail = ({
  reads,
  checkpoint,
}: {
  reads: Reads;
  /** How far the feed's read model has got. */
  checkpoint: () => Promise<number>;
}): FeedTail =>
  createTail({
    look: (workspaceId) => feedEnd(reads, workspaceId),
    isBeyond: (end, seen) => seen.position < end.position,
    checkpoint,
  });
