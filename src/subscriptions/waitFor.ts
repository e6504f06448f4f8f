import type { Projection } from "#projections/projection.ts";
import type { Sql } from "#src/postgres/database.ts";
import { type Checkpoint, loadCheckpoints } from "./checkpoints.ts";
import { pause } from "./retrying.ts";

export type WaitFor = {
  /**
   * True when these read models (default: those that are served together) have reached a position; false where they did not within `timeoutMs`
   * (default 5,000), or on abort.
   */
  projected(position: number, options?: WaitOptions): Promise<boolean>;
  /** Told by a projection runner of the same process after each commit where each read model stands: that saves asking the database. */
  reached(positions: ReadonlyMap<string, number>): void;
  close(): void;
};

export type WaitOptions = { of?: readonly string[]; timeoutMs?: number; signal?: AbortSignal };

/**
 * Milliseconds between two looks at the stored checkpoints, made only while somebody waits. One primary key look-up for all who wait
 * is cheaper than a notification with every commit, which all writers of the database would queue for.
 */
const lookEveryMs = 5;
/** Before the first of them, where the runner beside us is likely to tell sooner. */
const patienceMs = 25;

type Waiter = { position: number; of: readonly string[]; done(reached: boolean): void };

const isReached = (
  { position, of }: Pick<Waiter, "position" | "of">,
  positions: ReadonlyMap<string, number>,
): boolean => of.every((name) => (positions.get(name) ?? 0) >= position);

/** Reading one's own writes, whichever instance writes the read models. */
export function createWaitFor({
  database,
  projections,
}: {
  database: Sql;
  projections: readonly Projection[];
}): WaitFor {
  const names = projections.map(({ name }) => name);
  const together = projections.filter(({ apart }) => !apart).map(({ name }) => name);
  const waiting = new Set<Waiter>();
  const closing = new AbortController();
  /** What the runner beside us said last. It can go back: a database that crashed may have lost its last moments. */
  let said: ReadonlyMap<string, number> = new Map();
  /** Whether the last who waited was woken by the runner beside us: then it writes the read models, and a look would mostly come too early. */
  let isTold = false;
  let looking = false;

  /** True if somebody has waited for it. */
  function wake(positions: ReadonlyMap<string, number>): boolean {
    const woken = [...waiting].filter((waiter) => isReached(waiter, positions));
    for (const waiter of woken) waiter.done(true);
    return woken.length > 0;
  }

  async function look(): Promise<void> {
    if (looking) return;
    looking = true;
    if (isTold) await pause(patienceMs, closing.signal);
    while (waiting.size > 0 && !closing.signal.aborted) {
      const stored = await loadCheckpoints(database, names).catch(() => new Map<string, Checkpoint>());
      if (wake(new Map([...stored].map(([name, { position }]) => [name, position])))) isTold = false;
      if (waiting.size > 0) await pause(lookEveryMs, closing.signal);
    }
    looking = false;
  }

  return {
    reached(positions) {
      said = positions;
      if (wake(positions)) isTold = true;
    },
    projected(position, { of = together, timeoutMs = 5_000, signal } = {}) {
      if (isReached({ position, of }, said)) return Promise.resolve(true);
      if (signal?.aborted || closing.signal.aborted) return Promise.resolve(false);
      return new Promise((resolve) => {
        const giveUp = (): void => waiter.done(false);
        const timer = setTimeout(giveUp, timeoutMs);
        const waiter: Waiter = {
          position,
          of,
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
