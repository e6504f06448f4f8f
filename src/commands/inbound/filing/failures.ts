import { LRUCache } from "lru-cache";
import { InvalidAppend, StreamMoved, Unavailable } from "#src/eventStore/eventStore.ts";
import { storableLine } from "#src/mail/in/storable.ts";
import { Rejected } from "#streams/decider.ts";
import type { Dependencies } from "../../dependencies.ts";

const maxReasonLength = 500;

/**
 * Returns true for a failure of the log, the database or a disk. The mail does not cause such a failure, so filing is retried until the
 * failure passes.
 */
export function isInfrastructure(error: unknown): boolean {
  if (error instanceof Unavailable || error instanceof StreamMoved) return true;
  const { code, syscall } = (error ?? {}) as { code?: unknown; syscall?: unknown };
  if (syscall !== undefined) return true;
  // The code is a SQLSTATE. Classes 22 and 54 mean wrong or too much data, so the mail is the cause.
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) && !/^(22|54)/.test(code);
}

/** A mail that could be read when its filing was decided, but cannot be read now. */
export class NoLongerReadable extends Error {
  override readonly name = "NoLongerReadable";
}

/** Returns true for an error that occurs again on every further try. */
export const isPermanent = (error: unknown): boolean =>
  error instanceof InvalidAppend || error instanceof Rejected || error instanceof NoLongerReadable;

/** Returns the reason shown in the ledger; the error itself is logged. */
export function reasonOf(error: unknown): string {
  if (error instanceof InvalidAppend) return "it could not be recorded: it does not fit into an event";
  if (error instanceof NoLongerReadable) return storableLine(error.message, maxReasonLength);
  if (error instanceof Rejected) return storableLine(`it could not be recorded: ${error.message}`, maxReasonLength);
  return "it could not be recorded";
}

/** Maximum number of tries after an error that may pass. With the runner's pauses they take some 9 s. */
const maxTries = 4;
/** Milliseconds within which several tries count as one, because sends that wait for filing also try to file. */
const triesApartMs = 450;
/** Maximum number of failure counts in memory; the oldest are dropped. A mail whose count was dropped is tried a few times more. */
const maxCounted = 1_000;

/** Number of failures caused by the mail itself, and the time of the last in milliseconds of the monotonic clock. */
type FailureCount = { failed: number; at: number };

const failuresOf = new WeakMap<object, LRUCache<string, FailureCount>>();

type Counting = Pick<Dependencies, "filings" | "clock">;

/** Counts a failure of `what`. `isTheLast`: true if this failure reaches the limit. `isOver`: true if an earlier failure reached it. */
export function countFailure({ filings, clock }: Counting, what: string): { isTheLast: boolean; isOver: boolean } {
  const counts = failuresOf.get(filings) ?? new LRUCache<string, FailureCount>({ max: maxCounted });
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
