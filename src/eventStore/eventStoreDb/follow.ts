import { setTimeout as sleep } from "node:timers/promises";
import { ErrorType, type EventStoreDBClient, type ResolvedEvent } from "@eventstore/db-client";
import type { Recorded } from "#streams/event.ts";
import { type Batch, LogRewound, type SubscribeOptions } from "../eventStore.ts";
import { toLogRecord } from "./events.ts";
import { asCommandError, failureType, NoAnswer } from "./failures.ts";
import { type Feed, openFeed } from "./feed.ts";
import { lookAhead, Progress } from "./progress.ts";
import type { Reads } from "./reads.ts";

export type Log = { warn(details: object, message: string): void; error(details: object, message: string): void };

export type Followed = {
  client: EventStoreDBClient;
  reads: Reads;
  log: Log;
  /** Called with every open feed and its categories; returns how to forget it. */
  opened(feed: Feed, categories?: readonly string[]): () => void;
  /** How long an event may be in the log before the subscription delivers it. */
  stallMs: number;
};

/** Appends of this process may call for a look at any time; reads are not free. */
const betweenLooksMs = 5;
const shortestIdleMs = 20;
/** One that is brought everything waits for its subscription alone; what it has to look for is the end of what others wrote. */
const shortestIdleOfAllMs = 100;
const longestIdleMs = 250;
const longestPauseMs = 2000;
/** A subscription that lived this long was a good one: the next trouble is a new one. */
const healthyMs = 5000;
/** A position that is none of its records' is "unknown" to the server, and so is a fault of its own. */
const unknownsInARow = 5;

/**
 * Batches in position order from `options.after` on, over as many subscriptions as it takes. A subscription brings what comes next;
 * how far the log was seen is known from reads alone, for the server's checkpoints and "caught up" run ahead of the consumer.
 * Throws LogRewound if the log is not the one that was read before.
 */
export async function* follow(followed: Followed, options: SubscribeOptions): AsyncGenerator<Batch> {
  const { signal } = options;
  const progress = new Progress(options.after);
  let pauseMs = 0;
  let unknowns = 0;
  while (!signal.aborted) {
    const from = progress.position;
    const openedAt = performance.now();
    try {
      yield* followOnce(followed, options, progress);
    } catch (error) {
      if (signal.aborted) return;
      const healthy = progress.position > from || performance.now() - openedAt > healthyMs;
      unknowns = !healthy && failureType(error) === ErrorType.UNKNOWN ? unknowns + 1 : 0;
      const fatal = unknowns < unknownsInARow ? error : new LogRewound(`${from} is not a position in this log`);
      stopIfRewound(fatal, from, followed.log);
      pauseMs = healthy || consumerTooSlow(error) ? 0 : Math.min(Math.max(pauseMs * 2, shortestIdleMs), longestPauseMs);
      followed.log.warn({ reason: asCommandError(error).message, position: progress.position }, "subscribing again");
    }
    if (pauseMs > 0) await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
  }
}

/** Routine: the server ends a subscription as soon as 32 live events wait for it. */
const consumerTooSlow = (error: unknown): boolean => failureType(error) === ErrorType.TIMEOUT;

function stopIfRewound(error: unknown, from: number, log: Log): void {
  if (!(error instanceof LogRewound)) return;
  log.error({ err: error, position: from }, "the event log is not the one that was read before, stopping");
  throw error;
}

/** Until the subscription fails or the signal comes. */
async function* followOnce(
  { client, reads, opened, stallMs }: Followed,
  options: SubscribeOptions,
  progress: Progress,
): AsyncGenerator<Batch> {
  progress.endsAt(await reads.head());
  if (options.signal.aborted) return;
  const feed = openFeed(client, progress.position, options.categories);
  const forget = opened(feed, options.categories);
  options.signal.addEventListener("abort", feed.wake);
  try {
    yield* drain({ feed, reads, stallMs }, progress, options);
  } finally {
    options.signal.removeEventListener("abort", feed.wake);
    forget();
    feed.close();
  }
}

async function* drain(
  { feed, reads, stallMs }: Pick<Followed, "reads" | "stallMs"> & { feed: Feed },
  progress: Progress,
  { categories, batchSize = 500, signal }: SubscribeOptions,
): AsyncGenerator<Batch> {
  const shortestMs = categories ? shortestIdleMs : shortestIdleOfAllMs;
  let idleMs = shortestMs;
  let saidCaughtUp = false;
  let heardAt = performance.now();
  let lookedAt = Number.NEGATIVE_INFINITY;
  for (;;) {
    await feed.wait(idleMs);
    if (signal.aborted) return;
    const taken = feed.take(batchSize);
    if (taken.length > 0) {
      const events = accept(taken, progress);
      saidCaughtUp = feed.drained() && progress.position >= progress.end;
      yield { events, position: progress.position, caughtUp: saidCaughtUp };
      heardAt = performance.now();
      idleMs = shortestMs;
      if (heardAt - progress.endSeenAt > longestIdleMs) progress.endsAt(await reads.head());
      continue;
    }
    if (feed.failure()) throw feed.failure();
    const tooSoonMs = lookedAt + betweenLooksMs - performance.now();
    if (tooSoonMs > 0) {
      idleMs = tooSoonMs;
      continue;
    }
    const seen = await lookAhead(reads, progress, { searched: feed.searched(), categories });
    lookedAt = performance.now();
    if (seen.waitingFor === undefined) heardAt = lookedAt;
    if (lookedAt - heardAt > stallMs)
      throw new NoAnswer(`the subscription does not deliver the event at ${seen.waitingFor}`);
    idleMs = seen.moved || seen.waitingFor ? shortestMs : Math.min(Math.max(idleMs * 2, shortestMs), longestIdleMs);
    if (seen.moved || (seen.atEnd && !saidCaughtUp)) {
      saidCaughtUp = seen.atEnd;
      yield { events: [], position: progress.position, caughtUp: seen.atEnd };
    }
  }
}

/** Moves over what was taken. Records that this service did not write move the position and are not delivered. */
function accept(taken: readonly ResolvedEvent[], progress: Progress): Recorded[] {
  return taken.flatMap((resolved) => {
    const record = toLogRecord(resolved);
    if (!record) return [];
    progress.advance(record.position);
    return record.event ?? [];
  });
}
