import { setTimeout as sleep } from "node:timers/promises";
import { END, ErrorType, type EventStoreDBClient, streamNameFilter } from "@eventstore/db-client";
import { type AdapterLog, retryPauses } from "../recovery.ts";
import { createWaiters } from "../waiters.ts";
import { asCommandError, failureType } from "./failures.ts";
import type { LeaderReads } from "./reads.ts";

/** Tracks the end of the log, and wakes the loops that wait for more events. */
export type Watch = {
  /** Reports the position of a record that is in the log. */
  saw(position: number): void;
  /** Resolves when the log has grown beyond `after`, or on abort. Throws LogRewound. */
  beyond(after: number, signal: AbortSignal): Promise<void>;
};

export type WatchOptions = {
  client: EventStoreDBClient;
  reads: Pick<LeaderReads, "head">;
  log: AdapterLog;
  closed: AbortSignal;
};

/** Milliseconds after which a subscription counts as healthy: a later failure starts a new series. */
const healthyMs = 5_000;
/** Milliseconds between reads of the end of the log: the longest delay of a lost wake-up. */
const pollMs = 250;
/** The log is searched in windows of this many records; the default of 32 makes long stretches of others' events slow. */
const searchWindow = 1000;

/**
 * Creates the watch. One subscription to the end of the log wakes the loops at other instances' appends; only its positions are used.
 * Polling finds what it misses: other services' records, and an end before positions already read.
 */
export function createWatch({ client, reads, log, closed }: WatchOptions): Watch {
  const waiters = createWaiters();
  let end = 0;
  let raisedAt = Number.NEGATIVE_INFINITY;
  let watching = false;

  function saw(position: number): void {
    if (!(position > end)) return;
    end = position;
    raisedAt = performance.now();
    waiters.wake(position);
  }

  async function poll(): Promise<void> {
    const askedAt = performance.now();
    const found = await reads.head();
    waiters.failBeyond(found, askedAt);
    // A wiped log ends before positions that were seen earlier: answers from after the wipe are about the new log.
    if (raisedAt < askedAt) end = Math.min(end, found);
    saw(found);
  }

  /** Subscribes once. Resolves when the subscription has ended. */
  function listen(): Promise<void> {
    const filter = streamNameFilter({ regex: "^[^$]", maxSearchWindow: searchWindow });
    const feed = client.subscribeToAll({ fromPosition: END, filter });
    feed.on("data", ({ link, event }) => saw(Number((link ?? event)?.position?.commit)));
    return new Promise((resolve) => {
      const stop = (): void => {
        feed.unsubscribe().catch(() => undefined);
        feed.destroy();
      };
      const over = (): void => {
        closed.removeEventListener("abort", stop);
        resolve();
      };
      closed.addEventListener("abort", stop);
      feed.on("error", (error: unknown) => {
        // Normal: the server ends a subscription once 32 live events are queued for it.
        if (failureType(error) !== ErrorType.TIMEOUT && !closed.aborted)
          log.warn({ reason: asCommandError(error).message }, "subscribing again");
        over();
      });
      feed.on("end", over);
      feed.on("close", over);
    });
  }

  const rest = (ms: number): Promise<void> => sleep(ms, undefined, { signal: closed }).catch(() => undefined);

  async function keepPolling(): Promise<void> {
    for (; !closed.aborted; await rest(pollMs)) {
      await poll().catch((error) => closed.aborted || log.warn({ err: error }, "cannot watch the event log, retrying"));
    }
  }

  async function keepListening(): Promise<void> {
    const pause = retryPauses();
    while (!closed.aborted) {
      const begun = performance.now();
      await listen();
      if (performance.now() - begun > healthyMs) pause.reset();
      await rest(pause.next());
    }
  }

  return {
    saw,
    async beyond(after, signal) {
      if (!watching) {
        watching = true;
        void keepPolling();
        void keepListening();
      }
      if (after >= end) await waiters.wait(after, signal);
    },
  };
}
