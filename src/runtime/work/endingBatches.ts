import type { Clock } from "#src/platform/clock.ts";
import { crashPoint } from "#src/platform/crashPoints.ts";
import type { Database } from "#src/platform/postgres/database.ts";
import { createPace } from "#src/runtime/projections/pace.ts";
import { asError, type Backoff, type Log, pause, pauseAfter } from "#src/runtime/projections/retrying.ts";
import type { Ending } from "./ending.ts";
import { recordEndings } from "./endings.ts";
import { mostTimersAtOnce } from "./timerChanges.ts";

export type Endings = {
  /** Resolves when it is stored: true, or false if the lane is somebody else's by now, or nothing could be stored before the end. */
  add(ending: Ending): Promise<boolean>;
  /** Stores what was added, in one more try. */
  close(): Promise<void>;
};

const mostAtOnce = 200;

/** As many as go together: the first, and those behind it while they are not too many and do not change too many timers. */
function batchOf<Waiting extends { ending: Ending }>(waiting: readonly Waiting[]): Waiting[] {
  let timers = 0;
  const tooMany = waiting.findIndex(({ ending }, place) => {
    timers += ending.timers?.length ?? 0;
    return place > 0 && (place === mostAtOnce || timers > mostTimersAtOnce);
  });
  return tooMany < 0 ? [...waiting] : waiting.slice(0, tooMany);
}

/** Stores endings together: those that come while a batch is being written go in the next one, in their order. */
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
  /** A lane whose claim has ended has more to do. */
  onReady: () => void;
}): Endings {
  const waiting: { ending: Ending; done(stored: boolean): void }[] = [];
  const pace = createPace(clock);
  const closing = new AbortController();
  let writing: Promise<void> | undefined;

  async function writeAll(): Promise<void> {
    // Those of lanes that end in this moment go together.
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

  /** One that is added after the last look and before the end of the writing must not wait for the next one. */
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
