import { type FeedPlace, feedEnd } from "#projections/feed/queries.ts";
import type { Reads } from "#projections/reads.ts";
import { createTail, type Tail } from "../framework/longPolling.ts";

/** Wakes clients that wait at the end of a workspace's event feed. All events up to the returned position can be read. */
export type FeedTail = Tail<FeedPlace>;

export const createFeedTail = ({
  reads,
  checkpoint,
}: {
  reads: Reads;
  /** Checkpoint of the feed's read model. */
  checkpoint: () => Promise<number>;
}): FeedTail =>
  createTail({
    look: (workspaceId) => feedEnd(reads, workspaceId),
    isBeyond: (end, seen) => seen.position < end.position,
    checkpoint,
  });
