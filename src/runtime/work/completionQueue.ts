import type { Clock } from "#src/platform/clock.ts";
import { crashPoint } from "#src/platform/crashPoints.ts";
import type { Database } from "#src/platform/postgres/database.ts";
import { createPace } from "#src/runtime/projections/pace.ts";
import { asError, type Backoff, pause, pauseAfterFailures, type RunnerLog } from "#src/runtime/projections/retrying.ts";
import type { Completion } from "./completion.ts";
import { recordCompletions } from "./completions.ts";
import { maxTimersPerTransaction } from "./timerChanges.ts";

export type CompletionQueue = {
  /**
   * Resolves to true once the completion is stored; to false if another instance has claimed the lane since, or if nothing could be stored
   * before `close`.
   */
  add(completion: Completion): Promise<boolean>;
  /** Stores the completions that were added, in one more attempt. */
  close(): Promise<void>;
};

const mostAtOnce = 200;

/**
 * Returns the completions of one transaction: the first, and those after it up to `mostAtOnce` completions and `maxTimersPerTransaction`
 * timer changes.
 */
function batchOf<Waiting extends { completion: Completion }>(waiting: readonly Waiting[]): Waiting[] {
  let timers = 0;
  const tooMany = waiting.findIndex(({ completion }, place) => {
    timers += completion.timers?.length ?? 0;
    return place > 0 && (place === mostAtOnce || timers > maxTimersPerTransaction);
  });
  return tooMany < 0 ? [...waiting] : waiting.slice(0, tooMany);
}

/** Stores completions in batches. Completions added while a batch is being written go into the next one, in their order. */
export function createCompletionQueue({
  database,
  clock,
  log,
  backoff,
  onReady,
}: {
  database: Database;
  clock: Clock;
  log: RunnerLog;
  backoff: Backoff;
  /** Called when a lane whose claim has ended has more to do. */
  onReady: () => void;
}): CompletionQueue {
  const waiting: { completion: Completion; done(stored: boolean): void }[] = [];
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
          recordCompletions(
            database,
            batch.map(({ completion }) => completion),
            clock.now(),
          ),
        );
        crashPoint("work:ended");
        waiting.splice(0, batch.length);
        for (const { completion, done } of batch) done(held.has(completion.lane.claim));
        if (ready) onReady();
        failures = 0;
      } catch (error) {
        log.warn({ err: asError(error) }, "cannot record progress, retrying");
        if (closing.signal.aborted) {
          for (const { done } of waiting.splice(0)) done(false);
          return;
        }
        await pause(pauseAfterFailures(error, ++failures, backoff), closing.signal);
      }
    }
  }

  /** A completion added after `writeAll` last checked, but before its promise settled, must not wait for the next completion. */
  function begin(): void {
    writing ??= writeAll().finally(() => {
      writing = undefined;
      if (waiting.length > 0) begin();
    });
  }

  return {
    add: (completion) =>
      new Promise((done) => {
        waiting.push({ completion, done });
        begin();
      }),
    async close() {
      closing.abort();
      await writing;
    },
  };
}
