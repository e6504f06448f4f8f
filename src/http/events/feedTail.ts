import { type FeedPlace, feedEnd } from "#projections/feed/queries.ts";
import type { Reads } from "#projections/reads.ts";

/** Wakes the clients that wait at the end of a workspace's feed. One look-up serves all that wait in this instance. */
export type FeedTail = {
  /**
   * Resolves with the feed's end once that lies beyond `seen`; undefined if it did not within `timeoutMs`, or on abort.
   * What is at or before the end can be read.
   */
  next(
    workspaceId: string,
    seen: FeedPlace,
    options: { timeoutMs: number; signal: AbortSignal },
  ): Promise<FeedPlace | undefined>;
};

type Waiter = { seen: FeedPlace; done(end?: FeedPlace): void };

const lookEveryMs = 200;

export function createFeedTail({
  reads,
  checkpoint,
}: {
  reads: Reads;
  /** How far the feed's read model has got. */
  checkpoint: () => Promise<number>;
}): FeedTail {
  const waiting = new Map<string, Set<Waiter>>();
  /** Workspaces somebody began to wait for since the last look. */
  const unlooked = new Set<string>();
  let lookedAt = -1;
  let looking = false;

  async function look(): Promise<void> {
    if (looking) return;
    looking = true;
    while (waiting.size > 0) {
      // A failed look-up is repeated next time: no waiting client gets a wrong answer.
      await lookOnce().catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
    }
    looking = false;
  }

  async function lookOnce(): Promise<void> {
    const reached = await checkpoint();
    const workspaces = reached === lookedAt ? [...unlooked] : [...waiting.keys()];
    for (const workspaceId of workspaces) {
      unlooked.delete(workspaceId);
      const end = await feedEnd(reads, workspaceId);
      for (const waiter of waiting.get(workspaceId) ?? []) if (waiter.seen.position < end.position) waiter.done(end);
    }
    lookedAt = reached;
  }

  return {
    next: (workspaceId, seen, { timeoutMs, signal }) =>
      new Promise((resolve) => {
        if (signal.aborted) return resolve(undefined);
        const giveUp = (): void => waiter.done();
        const timer = setTimeout(giveUp, timeoutMs);
        const waiter: Waiter = {
          seen,
          done(end) {
            clearTimeout(timer);
            signal.removeEventListener("abort", giveUp);
            const others = waiting.get(workspaceId);
            others?.delete(waiter);
            if (others?.size === 0) waiting.delete(workspaceId);
            resolve(end);
          },
        };
        signal.addEventListener("abort", giveUp);
        waiting.set(workspaceId, (waiting.get(workspaceId) ?? new Set()).add(waiter));
        unlooked.add(workspaceId);
        void look();
      }),
  };
}
