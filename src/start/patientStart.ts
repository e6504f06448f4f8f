import { asError, backoffMs, isPassing, type Log, pause } from "../runtime/projections/retrying.ts";

/** Does a step of the start, again if need be, and answers what it answers. */
export type Patiently = <Answer>(step: () => Promise<Answer>) => Promise<Answer>;

/** What a start needs may come up with it. Longer than that, somebody is to hear of it. In milliseconds. */
const longestMs = 30_000;

/**
 * While PostgreSQL or the event log cannot be reached, steps of the start are tried again, for 30 s in all and until the end is asked for; that
 * is said once. Then the last error is thrown, also while a step waits for an answer. Every other error is thrown at once: a wrong password does
 * not become right. A step may have happened although it failed, so it has to be one that can be repeated.
 */
export function patientStart(
  { log, ending }: { log: Pick<Log, "warn">; ending: AbortSignal },
  { now = () => performance.now(), backoff = backoffMs, forMs = longestMs } = {},
): Patiently {
  let failures = 0;
  let until: number | undefined;
  let last: unknown = new Error("the start was given up");
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

/** A timer of Node's waits at most so long. */
const longestTimerMs = 2 ** 31 - 1;

/** A sentence for people that is about a server that is away has the server's error as its cause. */
const mayPass = (error: unknown): boolean => isPassing(error) || isPassing((error as Error | undefined)?.cause);
