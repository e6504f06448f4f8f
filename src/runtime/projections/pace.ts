import { setTimeout as delay } from "node:timers/promises";
import type { Clock } from "#src/platform/clock.ts";

/** Statements that may follow each other without a wait, after a quiet period. */
const atOnce = 10;

/** Afterwards one statement per interval: ten times the average duration of a statement, within bounds (milliseconds). */
const every = { timesTaken: 10, leastMs: 15, mostMs: 50 };

/** Weight of the newest duration in the average. */
const weightOfNewest = 0.2;

export type StatementPace = {
  /** Resolves when the next statement may be sent. */
  next(): Promise<void>;
  /** Runs a statement and adds its duration to the average. */
  taking<T>(statement: () => Promise<T>): Promise<T>;
};

/**
 * Limits the rate of statements, so that work arriving within some milliseconds shares one: a statement about twenty rows costs little more
 * than one about one. An idle service responds at once; a busy one waits before the next statement, and longer the slower statements are,
 * because then the machine is overloaded.
 */
export function createPace(clock: Pick<Clock, "monotonic">): StatementPace {
  /** Time up to which the statements sent so far have used up the rate (leaky bucket, monotonic milliseconds). */
  let usedUpTo = Number.NEGATIVE_INFINITY;
  let takesMs = 0;
  return {
    async next() {
      const now = clock.monotonic();
      const everyMs = Math.min(Math.max(every.timesTaken * takesMs, every.leastMs), every.mostMs);
      usedUpTo = Math.max(usedUpTo, now) + everyMs;
      const wait = usedUpTo - now - atOnce * everyMs;
      if (wait > 0) await delay(Math.min(wait, everyMs));
    },
    async taking(statement) {
      const began = clock.monotonic();
      try {
        return await statement();
      } finally {
        takesMs += weightOfNewest * (clock.monotonic() - began - takesMs);
      }
    },
  };
}
