import { setTimeout as sleep } from "node:timers/promises";
import { convertToCommandError, ErrorType } from "@eventstore/db-client";
import { Unavailable } from "../eventStore.ts";

/** Unifies the client's typed errors, raw gRPC errors and plain ones. */
export function failureType(error: unknown): ErrorType | undefined {
  return (asCommandError(error) as { type?: ErrorType }).type;
}

export function asCommandError(error: unknown): Error {
  if (!(error instanceof Error)) return new Error(String(error));
  try {
    return convertToCommandError(error) as Error;
  } catch {
    return error; // the client fails on gRPC errors without details
  }
}

/** True if the server denied access: a retry gets the same answer. */
export const accessDenied = (error: unknown): boolean => failureType(error) === ErrorType.ACCESS_DENIED;

type Persistence<T> = {
  what: string;
  timeoutMs: number;
  closed: AbortSignal;
  /** Makes one attempt, which may take `budgetMs` milliseconds. */
  attempt(budgetMs: number): Promise<T>;
  /** Returns the error to throw at once; undefined if the outcome is unknown and the same call is to be retried. */
  verdict(error: unknown): Error | undefined;
};

/** Retries the same call until there is a verdict; throws Unavailable when `timeoutMs` have passed without one. */
export async function retryUntilVerdict<T>({ what, timeoutMs, closed, attempt, verdict }: Persistence<T>): Promise<T> {
  const end = performance.now() + timeoutMs;
  for (let pause = 20; ; pause = Math.min(pause * 2, 500)) {
    if (closed.aborted) throw new Unavailable(`${what}: the event store is closed`);
    try {
      return await attempt(Math.max(1, Math.min(end - performance.now(), timeoutMs / 2)));
    } catch (error) {
      const decided = verdict(error);
      if (decided) throw decided;
      if (performance.now() + pause >= end) throw unavailable(what, error);
    }
    await sleep(pause, undefined, { signal: closed }).catch(() => undefined);
  }
}

export function unavailable(what: string, error: unknown): Unavailable {
  const { message } = asCommandError(error);
  return new Unavailable(`${what}: ${message || failureType(error) || "no answer"}`, { cause: error });
}

export class NoAnswer extends Error {
  override readonly name = "NoAnswer";
}
