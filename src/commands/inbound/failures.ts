import { LRUCache } from "lru-cache";
import type { Dependencies } from "../dependencies.ts";

/** So often an error that may pass is waited out, with the pauses of the runner some 9 s. */
const maxTries = 4;
/** Sends that wait at the barrier file too: tries that follow closer than this count as one, in milliseconds. */
const triesApartMs = 450;
/** Counts of tries kept; the oldest go. A mail whose count is gone is tried a few times more. */
const maxCounted = 1_000;

/** How often something has failed for reasons of its own, and when it did last, in milliseconds of the monotonic clock. */
type Failures = { failed: number; at: number };

const failuresOf = new WeakMap<object, LRUCache<string, Failures>>();

type Counting = Pick<Dependencies, "filings" | "clock">;

/** Counts a failure of this. `isTheLast`: it is waited for no longer, from now on; `isOver`: it was not before either. */
export function countFailure({ filings, clock }: Counting, what: string): { isTheLast: boolean; isOver: boolean } {
  const counts = failuresOf.get(filings) ?? new LRUCache<string, Failures>({ max: maxCounted });
  failuresOf.set(filings, counts);
  const now = clock.monotonic();
  const before = counts.get(what) ?? { failed: 0, at: Number.NEGATIVE_INFINITY };
  const isNew = now - before.at >= triesApartMs;
  const failed = before.failed + (isNew ? 1 : 0);
  counts.set(what, { failed, at: isNew ? now : before.at });
  return { isTheLast: isNew && failed === maxTries, isOver: before.failed >= maxTries };
}

export function forgetFailures({ filings }: Pick<Counting, "filings">, what: string): void {
  failuresOf.get(filings)?.delete(what);
}
