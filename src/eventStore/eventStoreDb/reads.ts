import { ErrorType } from "@eventstore/db-client";
import type { ReadResp } from "@eventstore/db-client/generated/streams_pb.js";
import type { Recorded } from "#streams/event.ts";
import { shareReadsOfOneTurn } from "../batchedReads.ts";
import { type Batch, LogRewound, type StreamPage, type StreamRange, Unavailable } from "../eventStore.ts";
import type { Calls } from "./calls.ts";
import type { LogRecord } from "./events.ts";
import { accessDenied, failureType, retryUntilVerdict, unavailable } from "./failures.ts";
import { bytesOfAnswer, firstPosition, readLogRequest, readRecords, readStreamRequest } from "./messages.ts";

/** Events per request: large enough to be quick, small enough for a server with few threads. */
const pageSize = 500;
/** Bytes of a page of the log: it is cut after the record that makes it this large. */
const pageBytes = 2_000_000;

export type LeaderReads = {
  stream(name: string, fromRevision: number, maxCount: number): Promise<Recorded[]>;
  streamPage(name: string, stretch: StreamRange): Promise<StreamPage>;
  last(name: string): Promise<Recorded | undefined>;
  head(): Promise<number>;
  /** Reads a page of this service's events after a position, skipping records of others. One attempt. Throws LogRewound. */
  page(after: number): Promise<Batch>;
};

/** Creates reads from the leader. The server has no time limit for reads, so each has one here, restarted by every event. */
export function createReads(calls: Calls, timeoutMs: number, closed: AbortSignal): LeaderReads {
  const persistently = <T>(what: string, attempt: (budgetMs: number) => Promise<T>): Promise<T> =>
    retryUntilVerdict({ what, timeoutMs, closed, attempt, verdict: (error) => verdict(what, error) });

  const joined = shareReadsOfOneTurn();

  /** Concurrent callers of the same page share one array. */
  const page = (name: string, from: number | "end", count: number): Promise<readonly Recorded[]> =>
    joined(`${name} ${from} ${count}`, async () => (await stretch(name, { from, events: count })).events);

  const stretch = (
    name: string,
    { from, events, bytes = Number.POSITIVE_INFINITY }: { from: number | "end"; events: number; bytes?: number },
  ): Promise<StreamPage> =>
    persistently(`reading ${name}`, async (budgetMs) => {
      let read = 0;
      const isFull = (answer: ReadResp): boolean => {
        read += bytesOfAnswer(answer);
        return read >= bytes;
      };
      const request = readStreamRequest(name, from, events);
      const records = readRecords(await calls.read(request, budgetMs, isFull).catch(emptyWhereMissing));
      const isCut = read >= bytes || records.length === events;
      return { events: records.map((record) => ownEvent(name, record)), atEnd: !isCut };
    });

  return {
    async stream(name, fromRevision, maxCount) {
      const events: Recorded[] = [];
      while (events.length < maxCount) {
        const wanted = Math.min(pageSize, maxCount - events.length);
        const more = await page(name, fromRevision + events.length, wanted);
        for (const event of more) events.push(event);
        if (more.length < wanted) break;
      }
      return events;
    },
    streamPage: (name, { from, events, bytes }) =>
      joined(`${name} ${from} ${events} ${bytes}`, () => stretch(name, { from, events, bytes })),
    last: async (name) => (await page(name, "end", 1))[0],
    head: () =>
      joined("the end of the log", () =>
        persistently("reading the end of the log", async (budgetMs) => {
          const answers = await calls.read(readLogRequest("end", 1), budgetMs);
          return firstPosition(answers) ?? 0;
        }),
      ),
    async page(after) {
      const read = { events: 0, bytes: 0 };
      // A single record is never cut off, however large it is: it may be the one at the position.
      const isCut = (): boolean => read.events > 1 && read.bytes >= pageBytes;
      const take = (answer: ReadResp): boolean => {
        if (answer.hasEvent()) read.events += 1;
        read.bytes += bytesOfAnswer(answer);
        return isCut();
      };
      // The first record is the one at the position.
      const answers = await calls.read(readLogRequest(after, pageSize + 1), timeoutMs, take);
      if (after > 0 && read.events === 0)
        throw new LogRewound(`the event log ends before position ${after}, but had been read up to there`);
      const records = readRecords(answers)
        .filter((record) => record !== undefined)
        .filter(({ position }) => position > after);
      return {
        events: records.flatMap(({ stream, event }) => (event && !stream.startsWith("$") ? event : [])),
        position: records.at(-1)?.position ?? after,
        caughtUp: read.events <= pageSize && !isCut(),
      };
    },
  };
}

function emptyWhereMissing(error: unknown): [] {
  if (failureType(error) === ErrorType.STREAM_NOT_FOUND) return [];
  throw error;
}

class ForeignEvent extends Error {
  override readonly name = "ForeignEvent";
}

/** Returns the record's event. A stream with an event of another service cannot be folded: its revisions would have a gap. */
function ownEvent(stream: string, record: LogRecord | undefined): Recorded {
  if (!record?.event) throw new ForeignEvent(`${stream} holds an event that this service did not write`);
  return record.event;
}

function verdict(what: string, error: unknown): Error | undefined {
  if (accessDenied(error)) return unavailable(what, error);
  if (error instanceof ForeignEvent || error instanceof Unavailable) return error;
  return failureType(error) === ErrorType.STREAM_DELETED ? (error as Error) : undefined;
}
