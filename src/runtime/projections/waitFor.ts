import type { Projection } from "#projections/projection.ts";
import type { Sql } from "#src/platform/postgres/database.ts";
import { loadReadModels, type StoredReadModel } from "./checkpoints.ts";
import { pause } from "./retrying.ts";

export type WaitFor = {
  /**
   * Resolves to true once these read models (default: the main group) have reached a position; to false if they have not within `timeoutMs`
   * (default 5,000), or on abort.
   */
  projected(position: number, options?: WaitOptions): Promise<boolean>;
  /**
   * Called by the projection runner of the same process after each commit, with the positions of the read models that it writes, and with
   * none when it writes no more: that saves queries.
   */
  reached(positions: ReadonlyMap<string, number>): void;
  /**
   * Pause of a loop of the runner in the same process that had caught up to a position and has more events: events that arrive meanwhile
   * are written together. Ends at once while a caller waits for a later position of one of these read models, and on abort.
   */
  pauseUnlessAwaited(of: readonly string[], position: number, signal: AbortSignal): Promise<void>;
  close(): void;
};

export type WaitOptions = { of?: readonly string[]; timeoutMs?: number; signal?: AbortSignal };

/**
 * Milliseconds between two reads of the stored checkpoints, made only while a caller waits. One primary key look-up for all waiting callers
 * is cheaper than a notification with every commit, for which all writers of the database would queue.
 */
const lookEveryMs = 5;
/**
 * Milliseconds between two reads of the checkpoints while the runner of this process writes all awaited read models and so reports sooner:
 * another instance may have taken over without its knowledge.
 */
const usualPatienceMs = 250;

/**
 * Milliseconds of the loops' pause, for the main group and for an independent read model. A batch of ten events costs little more than one
 * of one. Callers that wait on another instance wait that much longer, and those that read without waiting see new events that much later.
 */
const usualPauseMs = { main: 30, independent: 250 };

type Waiter = { position: number; of: readonly string[]; done(reached: boolean): void };

const isReached = (
  { position, of }: Pick<Waiter, "position" | "of">,
  positions: ReadonlyMap<string, number>,
): boolean => of.every((name) => (positions.get(name) ?? 0) >= position);

/** True if a waiter needs a later position of one of these read models. */
const isAwaited = ({ of, position }: Pick<Waiter, "position" | "of">, waiter: Waiter): boolean =>
  waiter.position > position && waiter.of.some((name) => of.includes(name));

/** Lets callers read their own writes, whichever instance writes the read models. */
export function createWaitFor({
  database,
  projections,
  patienceMs = usualPatienceMs,
  pauseMs = usualPauseMs,
}: {
  database: Sql;
  projections: readonly Projection[];
  patienceMs?: number;
  pauseMs?: { main: number; independent: number };
}): WaitFor {
  const names = projections.map(({ name }) => name);
  const together = projections.filter(({ independent }) => !independent).map(({ name }) => name);
  const waiting = new Set<Waiter>();
  const closing = new AbortController();
  /** Positions that the runner of this process reported last. They can go back: a crashed database may have lost its last commits. */
  let said: ReadonlyMap<string, number> = new Map();
  let looking = false;
  /**
   * Ends the pause between two reads: if a caller waits for positions that the runner of this process does not report, or if no caller
   * waits.
   */
  let wakeUp: (() => void) | undefined;
  const pauses = new Set<{ of: readonly string[]; position: number; end(): void }>();

  function wake(positions: ReadonlyMap<string, number>): void {
    for (const waiter of [...waiting]) if (isReached(waiter, positions)) waiter.done(true);
  }

  const isTold = ({ of }: Waiter): boolean => of.every((name) => said.has(name));
  const endNap = (): void => {
    if (![...waiting].every(isTold) || waiting.size === 0) wakeUp?.();
  };

  /** Sleeps `patienceMs`. True if it was not ended early. */
  const nap = (): Promise<boolean> =>
    new Promise((resolve) => {
      const end = (whole: boolean) => (): void => {
        clearTimeout(timer);
        wakeUp = undefined;
        resolve(whole);
      };
      const timer = setTimeout(end(true), patienceMs);
      wakeUp = end(false);
    });

  async function look(): Promise<void> {
    if (looking) return;
    looking = true;
    while (waiting.size > 0 && !closing.signal.aborted) {
      if ([...waiting].every(isTold) && !(await nap())) continue;
      const stored = await loadReadModels(database, names).catch(() => new Map<string, StoredReadModel>());
      wake(new Map([...stored].map(([name, { position }]) => [name, position])));
      if (![...waiting].every(isTold)) await pause(lookEveryMs, closing.signal);
    }
    looking = false;
  }

  return {
    reached(positions) {
      said = positions;
      wake(positions);
      endNap();
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
            endNap();
            clearTimeout(timer);
            signal?.removeEventListener("abort", giveUp);
            resolve(reached);
          },
        };
        signal?.addEventListener("abort", giveUp);
        waiting.add(waiter);
        for (const each of pauses) if (isAwaited(each, waiter)) each.end();
        endNap();
        void look();
      });
    },
    pauseUnlessAwaited(of, position, signal) {
      const isNeeded = [...waiting].some((waiter) => isAwaited({ of, position }, waiter));
      if (isNeeded || signal.aborted || closing.signal.aborted) return Promise.resolve();
      return new Promise((resolve) => {
        const end = (): void => {
          clearTimeout(timer);
          signal.removeEventListener("abort", end);
          pauses.delete(own);
          resolve();
        };
        const timer = setTimeout(end, of.some((name) => together.includes(name)) ? pauseMs.main : pauseMs.independent);
        const own = { of, position, end };
        signal.addEventListener("abort", end);
        pauses.add(own);
      });
    },
    close() {
      closing.abort();
      for (const waiter of waiting) waiter.done(false);
      for (const each of pauses) each.end();
    },
  };
}
