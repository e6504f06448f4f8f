import { setTimeout as delay } from "node:timers/promises";
import type { Clock } from "#src/clock.ts";

/** Statements of one kind on the work table that follow each other at once, after a quiet while; and from then on one in so many milliseconds. */
const atOnce = 10;
const everyMs = 15;

/** Resolves when the next statement may go out. */
export type Pace = () => Promise<void>;

/**
 * What many ask for within some milliseconds goes out together. A service with little to do answers at once: only who has just had so many
 * statements waits for the next, `everyMs` at most.
 */
export function createPace(clock: Pick<Clock, "monotonic">): Pace {
  /** When all that went out would have, one in `everyMs`. */
  let usedUpTo = Number.NEGATIVE_INFINITY;
  return async () => {
    const now = clock.monotonic();
    usedUpTo = Math.max(usedUpTo, now) + everyMs;
    const wait = usedUpTo - now - atOnce * everyMs;
    if (wait > 0) await delay(Math.min(wait, everyMs));
  };
}
