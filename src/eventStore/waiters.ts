import { LogRewound } from "./eventStore.ts";

type Waiter = { after: number; since: number; wake(): void; fail(error: LogRewound): void };

/** Readers that have read the whole log and wait until it grows. */
export type Waiters = {
  /** Resolves when the log has grown beyond `after`, or on abort. */
  wait(after: number, signal: AbortSignal): Promise<void>;
  /** Wakes the readers before a position that the log has reached. */
  wake(position: number): void;
  /** Fails the readers that are beyond `end`, the end of the log read after the monotonic millisecond `askedAt`. */
  failBeyond(end: number, askedAt: number): void;
  failAll(error: LogRewound): void;
};

export function createWaiters(): Waiters {
  const waiters = new Set<Waiter>();
  return {
    wait: (after, signal) =>
      new Promise((resolve, reject) => {
        const settle = (end: () => void): void => {
          waiters.delete(waiter);
          signal.removeEventListener("abort", waiter.wake);
          end();
        };
        const waiter: Waiter = {
          after,
          since: performance.now(),
          wake: () => settle(resolve),
          fail: (error) => settle(() => reject(error)),
        };
        waiters.add(waiter);
        signal.addEventListener("abort", waiter.wake);
        if (signal.aborted) waiter.wake();
      }),
    wake(position) {
      for (const waiter of waiters) if (waiter.after < position) waiter.wake();
    },
    failBeyond(end, askedAt) {
      for (const waiter of waiters)
        if (waiter.since < askedAt && waiter.after > end) waiter.fail(endsBefore(waiter.after, end));
    },
    failAll(error) {
      for (const waiter of waiters) waiter.fail(error);
    },
  };
}

export const endsBefore = (known: number, found: number): LogRewound =>
  new LogRewound(`the event log ends at position ${found}, but had reached ${known}: it was restored or replaced`);
