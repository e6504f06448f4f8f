import { StreamMoved } from "#src/eventStore/eventStore.ts";
import type { Slot } from "./lanes.ts";
import type { Held } from "./leaseKeeper.ts";
import { asError, type Backoff, isPassing, type Log, pause } from "./retrying.ts";

/** Failures, not counting those of infrastructure, after which a process gives up on an event: with the pauses between, some 9 s. */
const maxFailures = 5;

/** `dropped`: nothing is known to be done; whoever holds the lease next starts anew. */
export type Ended = { how: "handled" } | { how: "dropped" } | { how: "failed"; error: Error; tries: number };

export type Trying = { held: Held; log: Log; backoff: Backoff; never: boolean; describe: object };

/**
 * Runs a handler until it succeeds or has failed too often, with growing pauses in which its key waits and others run. What passes by
 * itself, an unreachable database or a stream that moved on, is tried without bound.
 */
export async function attempt(
  { held, log, backoff, never, describe }: Trying,
  slot: Slot,
  run: (attempt: number) => Promise<void>,
): Promise<Ended> {
  let failures = 0;
  for (let tries = 1; await mayRun(held); tries++) {
    try {
      await run(tries);
      return { how: held.lost() ? "dropped" : "handled" };
    } catch (thrown) {
      if (held.signal.aborted) break;
      const passing = isPassing(thrown) || thrown instanceof StreamMoved;
      if (!passing) failures += 1;
      const error = asError(thrown);
      if (failures === maxFailures && !never) return { how: "failed", error, tries };
      log.warn({ ...describe, err: error, tries }, "process failed, retrying");
      await slot.without(() => pause(backoff(passing ? Math.min(tries, 4) : failures), held.signal));
    }
  }
  return { how: "dropped" };
}

/** After a long silence, a stopped process or an absent database, nothing new begins until the lease is known to be held. */
async function mayRun(held: Held): Promise<boolean> {
  while (!held.fresh() && !held.signal.aborted) await pause(50, held.signal);
  return !held.signal.aborted;
}
