import { setTimeout as delay } from "node:timers/promises";
import type { Clock } from "#src/platform/clock.ts";

/** Statements of one kind that follow each other at once, after a quiet while. */
const atOnce = 10;

/** From then on one in so many milliseconds: ten times what a statement takes of late, within bounds. */
const every = { timesTaken: 10, leastMs: 15, mostMs: 50 };

/** How much the newest one counts in what one takes. */
const weightOfNewest = 0.2;

export type Pace = {
  /** Resolves when the next statement may go out. */
  next(): Promise<void>;
  /** Goes by how long this one takes, too. */
  taking<T>(statement: () => Promise<T>): Promise<T>;
};

/**
 * What many ask for within some milliseconds goes out together: a statement about twenty costs little more than one about one. A service with
 * little to do answers at once; only who has just had so many statements waits for the next, and longer where they take longer, because
 * the machine has too much to do.
 */
export function createPace(clock: Pick<Clock, "monotonic">): Pace {
  /** When all that went out would have, one in as many milliseconds as it was then. */
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
