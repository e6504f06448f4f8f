import { setMaxListeners } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { ErrorType, WrongExpectedVersionError } from "@eventstore/db-client";
import {
  type Appended,
  type Batch,
  type EventStore,
  type Expected,
  type Guard,
  InvalidAppend,
  LogRewound,
  type NewEvent,
  noStream,
  StreamMoved,
  type SubscribeOptions,
  toExpected,
  Unavailable,
} from "../eventStore.ts";
import { retryPauses } from "../recovery.ts";
import { sharePageReads } from "../sharedPageReads.ts";
import { subscribe } from "../subscription.ts";
import { isStreamName, type ValidEvent, validateAppend, validateStream } from "../validate.ts";
import { createCalls } from "./calls.ts";
import { connect } from "./connection.ts";
import { toPosition } from "./events.ts";
import { accessDenied, asCommandError, failureType, retryUntilVerdict, unavailable } from "./failures.ts";
import { appendOutcome, appendRequests } from "./messages.ts";
import { createReads, type LeaderReads } from "./reads.ts";
import { createWatch } from "./watch.ts";

export type EventStoreDbOptions = {
  /** `esdb://…`, `kurrentdb://…`, `kurrent://…` or `kdb://…`. */
  connectionString: string;
  /** Milliseconds for which a call is retried before it throws Unavailable. */
  timeoutMs?: number;
  logger?: EventStoreDbLog;
};

export type EventStoreDbLog = {
  warn(details: object, message: string): void;
  error(details: object, message: string): void;
};

const silent: EventStoreDbLog = { warn() {}, error() {} };

/** The event log on EventStoreDB (KurrentDB) 22.10 or newer. Connects at the first call. */
export function createEventStoreDbStore(options: EventStoreDbOptions): EventStore {
  const { connectionString, timeoutMs = 10_000, logger: log = silent } = options;
  const client = connect(connectionString);
  const closing = new AbortController();
  setMaxListeners(0, closing.signal); // every call that waits for a retry listens
  const calls = createCalls(client, closing.signal);
  const reads = createReads(calls, timeoutMs, closing.signal);
  const watch = createWatch({ client, reads, log, closed: closing.signal });
  const pages = sharePageReads((after) => pageOrVerdict(reads, after));

  const write = (
    stream: string,
    { revision: expectedRevision, unlessMoved = [] }: Expected,
    events: readonly ValidEvent[],
  ): Promise<Appended> =>
    retryUntilVerdict({
      what: `appending to ${stream}`,
      timeoutMs,
      closed: closing.signal,
      async attempt(budgetMs) {
        // Checked in each attempt: a guard checked seconds ago proves nothing.
        await requireUnmoved(unlessMoved, () => written(stream, expectedRevision, events));
        const requests = appendRequests(stream, expectedRevision, events);
        const outcome = appendOutcome(await calls.append(requests, budgetMs));
        if (!outcome.written) throw new StreamMoved(stream, expectedRevision, outcome.revision);
        return { revision: outcome.revision, position: outcome.position };
      },
      verdict: (error) => appendVerdict(stream, expectedRevision, error),
    });

  /** Throws StreamMoved for a guard that has moved, unless the events are stored: then an earlier attempt wrote them before it moved. */
  async function requireUnmoved(guards: readonly Guard[], isWritten: () => Promise<boolean>): Promise<void> {
    const tails = await Promise.all(guards.map(tailOf));
    const moved = tails.find(({ revision, actual }) => actual !== revision);
    if (moved && !(await isWritten())) throw new StreamMoved(moved.stream, moved.revision, moved.actual);
  }

  async function tailOf({ stream, revision }: Guard) {
    return { stream, revision, actual: (await reads.last(stream))?.revision ?? noStream };
  }

  /** True if these events are already stored: a retry must not fail because the guard has moved since they were written. */
  async function written(stream: string, expectedRevision: number, events: readonly ValidEvent[]): Promise<boolean> {
    const there = await reads.stream(stream, expectedRevision + 1, events.length);
    return there.length === events.length && there.every(({ id }, index) => id === events[index]!.id);
  }

  async function append(stream: string, expected: number | Expected, events: readonly NewEvent[]): Promise<Appended> {
    const wanted = toExpected(expected);
    const valid = validateAppend(stream, wanted.revision, events);
    for (const guard of wanted.unlessMoved ?? []) validateStream(guard.stream);
    const appended = await write(stream, wanted, valid);
    watch.saw(appended.position);
    return appended;
  }

  async function* follow(options: SubscribeOptions): AsyncGenerator<Batch, void> {
    try {
      yield* subscribe({ page: pages.page, beyond: watch.beyond, log, closing: closing.signal }, options);
    } catch (error) {
      if (error instanceof LogRewound) {
        pages.forget();
        log.error({ err: error }, "the event log is not the one that was read before, stopping");
      }
      throw error;
    }
  }

  return {
    guards: false,
    append,
    async read(stream, fromRevision = 0, maxCount = Number.MAX_SAFE_INTEGER) {
      if (!isStreamName(stream) || maxCount < 1) return [];
      return reads.stream(stream, Math.max(0, fromRevision), maxCount);
    },
    async readPage(stream, stretch) {
      return isStreamName(stream) ? reads.streamPage(stream, stretch) : { events: [], atEnd: true };
    },
    async readLast(stream) {
      return isStreamName(stream) ? reads.last(stream) : undefined;
    },
    subscribe: follow,
    head: () => reads.head(),
    async close() {
      closing.abort();
      await client.dispose();
    },
  };
}

/**
 * Number of "unknown" errors in a row that end a read. The server returns one for a position without a record, and also for faults of its
 * own.
 */
const unknownsInARow = 5;

/** Reads a page of the log. Throws Unavailable or LogRewound. */
async function pageOrVerdict(reads: Pick<LeaderReads, "page">, after: number): Promise<Batch> {
  const pause = retryPauses();
  for (let unknowns = 0; unknowns < unknownsInARow; unknowns++) {
    try {
      return await reads.page(after);
    } catch (error) {
      if (error instanceof LogRewound) throw error;
      if (failureType(error) !== ErrorType.UNKNOWN) throw unavailable("reading the log", error);
    }
    await sleep(pause.next());
  }
  throw new LogRewound(`${after} is not a position in this log`);
}

/** Returns the definite error of an append. Any other error leaves open whether it was written: repeating the append finds out. */
function appendVerdict(stream: string, expectedRevision: number, error: unknown): Error | undefined {
  if (error instanceof StreamMoved || error instanceof Unavailable) return error;
  const known = asCommandError(error);
  if (known instanceof WrongExpectedVersionError) {
    const { actualVersion } = known;
    return new StreamMoved(
      stream,
      expectedRevision,
      typeof actualVersion === "bigint" ? toPosition(actualVersion) : noStream,
    );
  }
  if (accessDenied(known)) return unavailable(`appending to ${stream}`, known);
  const type = failureType(known);
  const refused = type === ErrorType.MAXIMUM_APPEND_SIZE_EXCEEDED || type === ErrorType.INVALID_ARGUMENT;
  if (!refused && type !== ErrorType.STREAM_DELETED) return undefined;
  return new InvalidAppend(`the event store refuses to append to ${stream}: ${known.message || type}`);
}
