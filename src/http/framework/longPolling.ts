/**
 * Wakes requests that wait for news in a workspace. One look-up serves all waiting requests of this instance, and is made only when the
 * read models' checkpoint has advanced.
 */
export type Tail<Seen> = {
  /**
   * Resolves with the newest state once it is beyond `seen`; undefined after `timeoutMs` or on abort. Everything up to that state can be
   * read.
   */
  next(workspaceId: string, seen: Seen, options: { timeoutMs: number; signal: AbortSignal }): Promise<Seen | undefined>;
};

type Waiter<Seen> = { seen: Seen; done(end?: Seen): void };

const lookEveryMs = 200;

export function createTail<Seen>({
  look: lookAt,
  isBeyond,
  checkpoint,
}: {
  /** Reads the newest state of a workspace. */
  look(workspaceId: string): Promise<Seen>;
  isBeyond(end: Seen, seen: Seen): boolean;
  /** Checkpoint of the read models that `look` reads. */
  checkpoint(): Promise<number>;
}): Tail<Seen> {
  const waiting = new Map<string, Set<Waiter<Seen>>>();
  /** Workspaces with a new waiter since the last look-up. */
  const unlooked = new Set<string>();
  let lookedAt = -1;
  let looking = false;

  async function look(): Promise<void> {
    if (looking) return;
    looking = true;
    while (waiting.size > 0) {
      // A failed look-up is repeated in the next round; waiting clients notice nothing.
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
      const end = await lookAt(workspaceId);
      for (const waiter of waiting.get(workspaceId) ?? []) if (isBeyond(end, waiter.seen)) waiter.done(end);
    }
    lookedAt = reached;
  }

  return {
    next: (workspaceId, seen, { timeoutMs, signal }) =>
      new Promise((resolve) => {
        if (signal.aborted) return resolve(undefined);
        const giveUp = (): void => waiter.done();
        const timer = setTimeout(giveUp, timeoutMs);
        const waiter: Waiter<Seen> = {
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
