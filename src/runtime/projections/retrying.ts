import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import { Unavailable } from "#src/eventStore/eventStore.ts";

/** Logger of the runners, in pino's form. */
export type RunnerLog = {
  debug?(details: object, message: string): void;
  info(details: object, message: string): void;
  warn(details: object, message: string): void;
  error(details: object, message: string): void;
};

/** Sleeps; resolves early when the signal aborts. */
export async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  await delay(milliseconds, undefined, { signal }).catch(() => undefined);
}

/** Milliseconds to wait after so many failures in a row. */
export type Backoff = (failures: number) => number;

/** 0.1 s after the first failure, then 0.4, 1.6, 6.4 s, and 10 s from then on. */
export const backoffMs: Backoff = (failures) => Math.min(100 * 4 ** (failures - 1), 10_000);

/**
 * Consecutive transient failures that lengthen the pause: up to 1.6 s, so that a database that is back is noticed soon, however long it was
 * away.
 */
const longestPassing = 3;

/** Milliseconds to wait after so many consecutive failures, of which this was the last. */
export const pauseAfterFailures = (error: unknown, failures: number, backoff: Backoff): number =>
  backoff(isTransient(error) ? Math.min(failures, longestPassing) : failures);

export const asError = (thrown: unknown): Error => (thrown instanceof Error ? thrown : new Error(String(thrown)));

/** SQLSTATEs of statements that were correct but came at a bad moment: serialization failure, deadlock, lock timeout. */
const badMoments = new Set(["40001", "40P01", "55P03"]);

/**
 * True for a failure outside this service that ends without a change here: a lock held by another session, or an unreachable event store.
 * False if PostgreSQL itself refuses, for example because its disk is full: the waiting rebuild may be what fills it.
 */
export const endsByItself = (error: unknown): boolean =>
  isTransient(error) && !(error instanceof Unavailable && error.cause instanceof pg.DatabaseError);

/** True for a transient failure: the same work may succeed later without any change. */
export const isTransient = (error: unknown): boolean =>
  error instanceof Unavailable || badMoments.has((error as { code?: string } | undefined)?.code ?? "");
