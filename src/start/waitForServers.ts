import { asError, backoffMs, isTransient, pause, type RunnerLog } from "../runtime/projections/retrying.ts";

/** Runs a step of the start, with retries, and returns its result. */
export type RetryStep = <Answer>(step: () => Promise<Answer>) => Promise<Answer>;

/** Milliseconds of retrying: servers may start together with the service, but a longer failure has to be reported. */
const longestMs = 30_000;

/**
 * Retries steps of the start while PostgreSQL or the event log cannot be reached, for 30 s in all and until shutdown is requested; logs
 * that once. Then throws the last error, even while a step waits for an answer. Throws every other error at once: a wrong password does
 * not become right. A failed step may have happened, so it has to be repeatable.
 */
export function waitForServers(
  { log, ending }: { log: Pick<RunnerLog, "warn">; ending: AbortSignal },
  { now = () => performance.now(), backoff = backoffMs, forMs = longestMs } = {},
): RetryStep {
  let failures = 0;
  let until: number | undefined;
  let last: unknown = new Error("the start was abandoned");
  return async (step) => {
    for (;;) {
      const answered = new AbortController();
      const givenUp = pause(
        until === undefined ? longestTimerMs : until - now(),
        AbortSignal.any([ending, answered.signal]),
      );
      try {
        return await Promise.race([step(), givenUp.then(() => Promise.reject(last))]);
      } catch (error) {
        last = error;
        if (!mayPass(error)) throw error;
        if (until === undefined) log.warn({ reason: asError(error).message, forMs }, "cannot start yet, retrying");
        until ??= now() + forMs;
        if (ending.aborted || now() >= until) throw error;
        await pause(backoff(++failures), ending);
      } finally {
        answered.abort();
      }
    }
  };
}

/** Maximum delay of a Node timer, in milliseconds. */
const longestTimerMs = 2 ** 31 - 1;

/** True for a passing error, or an error whose cause is one: an error worded for people keeps the server's error as its cause. */
const mayPass = (error: unknown): boolean => isTransient(error) || isTransient((error as Error | undefined)?.cause);
