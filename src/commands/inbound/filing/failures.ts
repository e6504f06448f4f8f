import { LRUCache } from "lru-cache";
import { InvalidAppend, StreamMoved, Unavailable } from "#src/eventStore/eventStore.ts";
import { storableLine } from "#src/mail/in/storable.ts";
import { Rejected } from "#streams/decider.ts";
import type { Dependencies } from "../../dependencies.ts";

const maxReasonLength = 500;

/** True for a failure of the log, the database or a disk. It says nothing about a mail, and is retried until it passes. */
export function isInfrastructure(error: unknown): boolean {
  if (error instanceof Unavailable || error instanceof StreamMoved) return true;
  const { code, syscall } = (error ?? {}) as { code?: unknown; syscall?: unknown };
  if (syscall !== undefined) return true;
  // SQLSTATEs; classes 22 and 54 are about the data: wrong, or too much of it.
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) && !/^(22|54)/.test(code);
}

/** A mail that was read when it was decided about, and cannot be any more. */
export class NoLongerReadable extends Error {
  override readonly name = "NoLongerReadable";
}

/** True for an error that another try cannot cure. */
export const isForGood = (error: unknown): boolean =>
  error instanceof InvalidAppend || error instanceof Rejected || error instanceof NoLongerReadable;

/** The reason that the ledger shows; the error itself is logged. */
export function reasonOf(error: unknown): string {
  if (error instanceof InvalidAppend) return "it could not be recorded: it does not fit into an event";
  if (error instanceof NoLongerReadable) return storableLine(error.message, maxReasonLength);
  if (error instanceof Rejected) return storableLine(`it could not be recorded: ${error.message}`, maxReasonLength);
  return "it could not be recorded";
}

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
