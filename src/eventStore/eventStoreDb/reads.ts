import { ErrorType, type StreamingRead } from "@eventstore/db-client";
import type { Recorded } from "#streams/event.ts";
import { Unavailable } from "../eventStore.ts";
import type { Connection } from "./connection.ts";
import { type LogRecord, safe, toLogRecord, toPosition } from "./events.ts";
import { accessDenied, failureType, NoAnswer, persist, unavailable } from "./failures.ts";

/** Events asked for at once: large enough to be quick, small enough for a server with few threads. */
const pageSize = 500;

export type Reads = {
  stream(name: string, fromRevision: number, maxCount: number): Promise<Recorded[]>;
  last(name: string): Promise<Recorded | undefined>;
  head(): Promise<number>;
  /** Records of the whole log from `position` (inclusive) on, system records too, and whether the log ends there. One try. */
  log(position: number, maxCount: number): Promise<{ records: LogRecord[]; atEnd: boolean }>;
};

/** Reads from the leader. The client puts no time limit to them, so each has one here, counted again with every event. */
export function createReads({ client }: Connection, timeoutMs: number, closed: AbortSignal): Reads {
  const fromLeader = { requiresLeader: true } as const;

  const persistently = <T>(what: string, attempt: (budgetMs: number) => Promise<T>): Promise<T> =>
    persist({ what, timeoutMs, closed, attempt, verdict: (error) => verdict(what, error) });

  const page = (name: string, fromRevision: bigint | "end", maxCount: number): Promise<Recorded[]> =>
    persistently(`reading ${name}`, async (budgetMs) => {
      const direction = fromRevision === "end" ? "backwards" : "forwards";
      const reading = client.readStream(name, { fromRevision, direction, maxCount, ...fromLeader });
      const records = await collect(reading, budgetMs, closed).catch(emptyWhereMissing);
      return records.map((record) => ownEvent(name, toLogRecord(record)));
    });

  return {
    async stream(name, fromRevision, maxCount) {
      const events: Recorded[] = [];
      while (events.length < maxCount) {
        const wanted = Math.min(pageSize, maxCount - events.length);
        const more = await page(name, BigInt(fromRevision + events.length), wanted);
        for (const event of more) events.push(event);
        if (more.length < wanted) break;
      }
      return events;
    },
    last: async (name) => (await page(name, "end", 1))[0],
    head: () =>
      persistently("reading the end of the log", async (budgetMs) => {
        const reading = client.readAll({ fromPosition: "end", direction: "backwards", maxCount: 1, ...fromLeader });
        const [newest] = await collect(reading, budgetMs, closed);
        return newest?.event?.position ? safe(newest.event.position.commit) : 0;
      }),
    async log(position, maxCount) {
      const reading = client.readAll({ fromPosition: toPosition(position), maxCount, ...fromLeader });
      const page = await collect(reading, timeoutMs, closed);
      return { records: page.flatMap((record) => toLogRecord(record) ?? []), atEnd: page.length < maxCount };
    },
  };
}

/** All events of a read; NoAnswer when `idleMs` pass without one, or when the store is closed. */
async function collect<T>(reading: StreamingRead<T>, idleMs: number, closed: AbortSignal): Promise<T[]> {
  const giveUp = (): void => void reading.destroy(new NoAnswer(`nothing arrived for ${Math.round(idleMs)} ms`));
  const timer = setTimeout(giveUp, idleMs);
  closed.addEventListener("abort", giveUp);
  reading.on("error", () => {}); // a second error may follow the one that the loop throws
  const events: T[] = [];
  try {
    for await (const event of reading) {
      events.push(event);
      timer.refresh();
    }
    return events;
  } catch (error) {
    reading.cancel().catch(() => undefined);
    throw error;
  } finally {
    clearTimeout(timer);
    closed.removeEventListener("abort", giveUp);
  }
}

function emptyWhereMissing(error: unknown): [] {
  if (failureType(error) === ErrorType.STREAM_NOT_FOUND) return [];
  throw error;
}

class ForeignEvent extends Error {
  override readonly name = "ForeignEvent";
}

/** A stream with another's event in it cannot be folded: its revisions would have a hole. */
function ownEvent(stream: string, record: LogRecord | undefined): Recorded {
  if (!record?.event) throw new ForeignEvent(`${stream} holds an event that this service did not write`);
  return record.event;
}

function verdict(what: string, error: unknown): Error | undefined {
  if (accessDenied(error)) return unavailable(what, error);
  if (error instanceof ForeignEvent || error instanceof Unavailable) return error;
  return failureType(error) === ErrorType.STREAM_DELETED ? (error as Error) : undefined;
}
