import type { Clock } from "#src/platform/clock.ts";
import { crashPoint } from "#src/platform/crashPoints.ts";
import type { Database } from "#src/platform/postgres/database.ts";
import { createPace } from "#src/runtime/projections/pace.ts";
import { asError, type Backoff, type Log, pause, pauseAfter } from "#src/runtime/projections/retrying.ts";
import type { Ending } from "./ending.ts";
import { recordEndings } from "./endings.ts";
import { mostTimersAtOnce } from "./timerChanges.ts";

export type Endings = {
  /**
   * Resolves to true once the ending is stored; to false if another instance has claimed the lane since, or if nothing could be stored
   * before `close`.
   */
  add(ending: Ending): Promise<boolean>;
  /** Stores the endings that were added, in one more attempt. */
  close(): Promise<void>;
};

const mostAtOnce = 200;

/**
 * Returns the endings of one transaction: the first, and those after it up to `mostAtOnce` endings and `mostTimersAtOnce` timer changes.
 */
function batchOf<Waiting extends { ending: Ending }>(waiting: readonly Waiting[]): Waiting[] {
  let timers = 0;
  const tooMany = waiting.findIndex(({ ending }, place) => {
    timers += ending.timers?.length ?? 0;
    return place > 0 && (place === mostAtOnce || timers > mostTimersAtOnce);
  });
  return tooMany < 0 ? [...waiting] : waiting.slice(0, tooMany);
}

/** Stores endings in batches. Endings added while a batch is being written go into the next one, in their order. */
export function createEndings({
  database,
  clock,
  log,
  backoff,
  onReady,
}: {
  database: Database;
  clock: Clock;
  log: Log;
  backoff: Backoff;
  /** Called when a lane whose claim has ended has more to do. */
  onReady: () => void;
}): Endings {
  const waiting: { ending: Ending; done(stored: boolean): void }[] = [];
  const pace = createPace(clock);
  const closing = new AbortController();
  let writing: Promise<void> | undefined;

  async function writeAll(): Promise<void> {
    // Lanes that end in the same turn of the event loop share one batch.
    await new Promise((resolve) => setImmediate(resolve));
    for (let failures = 0; waiting.length > 0; ) {
      if (!closing.signal.aborted) await pace.next();
      const batch = batchOf(waiting);
      try {
        const { held, ready } = await pace.taking(() =>
          recordEndings(
            database,
            batch.map(({ ending }) => ending),
            clock.now(),
          ),
        );
        crashPoint("work:ended");
        waiting.splice(0, batch.length);
        for (const { ending, done } of batch) done(held.has(ending.lane.claim));
        if (ready) onReady();
        failures = 0;
      } catch (error) {
        log.warn({ err: asError(error) }, "cannot record progress, retrying");
        if (closing.signal.aborted) {
          for (const { done } of waiting.splice(0)) done(false);
          return;
        }
        await pause(pauseAfter(error, ++failures, backoff), closing.signal);
      }
    }
  }

  /** An ending added after `writeAll` last checked, but before its promise settled, must not wait for the next ending. */
  function begin(): void {
    writing ??= writeAll().finally(() => {
      writing = undefined;
      if (waiting.length > 0) begin();
    });
  }

  return {
    add: (ending) =>
      new Promise((done) => {
        waiting.push({ ending, done });
        begin();
      }),
    async close() {
      closing.abort();
      await writing;
    },
  };
}
