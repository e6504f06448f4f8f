import type { Projection } from "#projections/projection.ts";
import type { Sql } from "#src/postgres/database.ts";
import { lowestStored } from "./checkpoints.ts";
import { pause } from "./retrying.ts";

export type WaitFor = {
  /** True when every read model has reached this position; false where they did not within `timeoutMs` (default 5,000), or on abort. */
  projected(position: number, options?: { timeoutMs?: number; signal?: AbortSignal }): Promise<boolean>;
  /** Told by a projection runner of the same process after each commit: that saves asking the database. */
  reached(position: number): void;
  close(): void;
};

/**
 * Milliseconds between two looks at the stored checkpoints, made only while somebody waits. One primary key look-up for all who wait
 * is cheaper than a notification with every commit, which all writers of the database would queue for.
 */
const lookEveryMs = 5;
/** Before the first of them, where the runner beside us is likely to tell sooner. */
const patienceMs = 25;

/** Reading one's own writes, whichever instance writes the read models. */
export function createWaitFor({
  database,
  projections,
}: {
  database: Sql;
  projections: readonly Projection[];
}): WaitFor {
  const waiting = new Set<{ position: number; done(reached: boolean): void }>();
  const closing = new AbortController();
  /** What the runner beside us said last. It can go back: a database that crashed may have lost its last moments. */
  let said = 0;
  /** Whether the last who waited was woken by the runner beside us: then it writes the read models, and a look would mostly come too early. */
  let isTold = false;
  let looking = false;

  /** True if somebody has waited for it. */
  function wake(position: number): boolean {
    const woken = [...waiting].filter((waiter) => waiter.position <= position);
    for (const waiter of woken) waiter.done(true);
    return woken.length > 0;
  }

  async function look(): Promise<void> {
    if (looking) return;
    looking = true;
    if (isTold) await pause(patienceMs, closing.signal);
    while (waiting.size > 0 && !closing.signal.aborted) {
      const stored = await lowestStored(database, projections).catch(() => 0);
      if (wake(stored)) isTold = false;
      if (waiting.size > 0) await pause(lookEveryMs, closing.signal);
    }
    looking = false;
  }

  return {
    reached(position) {
      said = position;
      if (wake(position)) isTold = true;
    },
    projected(position, { timeoutMs = 5_000, signal } = {}) {
      if (position <= said) return Promise.resolve(true);
      if (signal?.aborted || closing.signal.aborted) return Promise.resolve(false);
      return new Promise((resolve) => {
        const giveUp = (): void => waiter.done(false);
        const timer = setTimeout(giveUp, timeoutMs);
        const waiter = {
          position,
          done(reached: boolean): void {
            waiting.delete(waiter);
            clearTimeout(timer);
            signal?.removeEventListener("abort", giveUp);
            resolve(reached);
          },
        };
        signal?.addEventListener("abort", giveUp);
        waiting.add(waiter);
        void look();
      });
    },
    close() {
      closing.abort();
      for (const waiter of waiting) waiter.done(false);
    },
  };
}
