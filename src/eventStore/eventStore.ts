import type { Event, Metadata, Recorded } from "#streams/event.ts";

/** The revision of a stream that does not exist yet. */
export const noStream = -1;

/** An event on its way in. The id makes a retry recognisable: same ids at the same expected revision succeed again. */
export type NewEvent<E extends Event = Event> = E & { id: string; schemaVersion?: number; metadata: Metadata };

/** Where an append ended up: the revision and position of the last event written. */
export type Appended = { revision: number; position: number };

/** A stream, and where it was seen. */
export type Guard = { stream: string; revision: number };

/** What an append expects of the log: StreamMoved if it is not so. */
export type Expected = {
  /** Of the stream itself (noStream = must not exist). */
  revision: number;
  /** Other streams and their revisions, each once. Exact if `guards` is true; otherwise checked just before the append. */
  unlessMoved?: readonly Guard[];
};

/** Most appends expect a revision of their own stream and nothing else. */
export const asExpected = (expected: number | Expected): Expected =>
  typeof expected === "number" ? { revision: expected } : expected;

export type SubscribeOptions = {
  /** Exclusive: the first event delivered has a higher position. 0 is the beginning. */
  after: number;
  /** Only streams of these categories; all if absent. */
  categories?: readonly string[];
  /** Events in a batch (default 500). Adapters deliver at most this many; the composed store may add the rest of the last append. */
  batchSize?: number;
  /** True: an event that cannot be brought to its newest version is delivered, and only its data throw. Otherwise the subscription does. */
  keepsUnreadable?: boolean;
  /** Called when the log has grown beyond its end at `position`: what is appended before it resolves is read together. */
  gather?: (position: number) => Promise<void>;
  signal: AbortSignal;
};

/**
 * What a subscription delivers: events in position order, never one twice, none left out. `position` is how far the log was read,
 * also over events of other categories: a checkpoint may move there once the batch is consumed. `caughtUp` is true when the
 * batch reached the end of the log as it was. An adapter may end a batch within an append; what is composed never does (wholeAppends.ts).
 */
export type Batch = { events: Recorded[]; position: number; caughtUp: boolean };

/** Which stretch of a stream: from a revision on (inclusive), so many events at most, and cut behind the event that makes it this many bytes. */
export type Stretch = { from: number; events: number; bytes: number };

/** A stretch of a stream, oldest first. `atEnd`: it is known that nothing came after it. */
export type StreamPage = { events: Recorded[]; atEnd: boolean };

/** The event log. Both adapters pass test/eventStore/contract.ts. */
export type EventStore = {
  /** True if `unlessMoved` is judged in the same transaction as the append. */
  readonly guards: boolean;
  /**
   * Appends atomically at exactly this revision. Resolves when durable.
   * Throws StreamMoved, InvalidAppend, or Unavailable: then the outcome is unknown, and no caller may assume one; the adapter
   * has already retried the same ids for as long as `timeoutMs` allowed.
   */
  append(stream: string, expected: number | Expected, events: readonly NewEvent[]): Promise<Appended>;
  /** The events of one stream from `fromRevision` on (inclusive, default 0), oldest first, [] for a stream that does not exist. Linearisable. */
  read(stream: string, fromRevision?: number, maxCount?: number): Promise<Recorded[]>;
  /** A stretch of one stream, with at least one event where there is one. Linearisable. */
  readPage(stream: string, stretch: Stretch): Promise<StreamPage>;
  /** The last event of a stream. Linearisable. */
  readLast(stream: string): Promise<Recorded | undefined>;
  /** Batches in position order until aborted; heals itself over lost connections; throws LogRewound. Consume one batch before asking for the next. */
  subscribe(options: SubscribeOptions): AsyncIterable<Batch>;
  /** The position of the newest event, 0 for an empty log. */
  head(): Promise<number>;
  close(): Promise<void>;
};

/**
 * The events of a stream whose contract the caller knows: its category has no other events than those of `E`. `from`: a revision
 * (inclusive, default 0); `count`: so many at most.
 */
export const readEvents = async <E extends Event>(
  store: Pick<EventStore, "read">,
  stream: string,
  { from, count }: { from?: number; count?: number } = {},
): Promise<Recorded<E>[]> => (await store.read(stream, from, count)) as Recorded<E>[];

/** The log from its beginning to the head of now, batch by batch. `categories`: only streams of these; all if absent. */
export async function* wholeLog(
  store: Pick<EventStore, "head" | "subscribe">,
  categories?: readonly string[],
): AsyncGenerator<Batch> {
  const head = await store.head();
  if (head === 0) return;
  const over = new AbortController();
  try {
    for await (const batch of store.subscribe({ after: 0, signal: over.signal, ...(categories && { categories }) })) {
      yield batch;
      if (batch.position >= head) return;
    }
  } finally {
    over.abort();
  }
}

const unreadable = new WeakSet<Recorded>();

/** The event as a subscription with `keepsUnreadable` delivers it if it cannot be read: looking at its data throws the error. */
export function asUnreadable(event: Recorded, error: unknown): Recorded {
  const failing = Object.defineProperty({ ...event }, "data", {
    enumerable: false,
    get: () => {
      throw error;
    },
  });
  unreadable.add(failing);
  return failing;
}

/** True for one of these. Its type is the stored one, which may have another name by now. */
export const isUnreadable = (event: Recorded): boolean => unreadable.has(event);

/** Somebody else appended first. `actualRevision` is the revision that the stream has. */
export class StreamMoved extends Error {
  readonly stream: string;
  readonly expectedRevision: number;
  readonly actualRevision: number;
  constructor(stream: string, expectedRevision: number, actualRevision: number) {
    super(`${stream} is at revision ${actualRevision}, not ${expectedRevision}`);
    this.name = "StreamMoved";
    this.stream = stream;
    this.expectedRevision = expectedRevision;
    this.actualRevision = actualRevision;
  }
}

/** The append can never succeed as it is: a bad stream name, id, type, size or data. */
export class InvalidAppend extends Error {
  override readonly name = "InvalidAppend";
}

/** The store cannot be reached, or an outcome stayed unknown. Infrastructure: worth trying again later. */
export class Unavailable extends Error {
  override readonly name: string = "Unavailable";
}

/** What is derived from the log has not come to this position of it in time. `of`: which of it, by name. */
export class Behind<Name extends string = string> extends Unavailable {
  override readonly name = "Behind";
  readonly position: number;
  readonly of: readonly Name[];
  constructor(position: number, of: readonly Name[]) {
    super("the read models lag behind");
    this.position = position;
    this.of = of;
  }
}

/** The database gave up on a statement that took too long: it may be busy, or be asked for too much. */
export class StatementTimedOut extends Unavailable {
  override readonly name = "StatementTimedOut";
}

/**
 * The log is not the one that was read before: wiped, replaced, or restored from an older copy. What was derived from it no longer fits,
 * so a subscription ends with this instead of going on quietly, and nobody may go on from their checkpoint.
 */
export class LogRewound extends Error {
  override readonly name = "LogRewound";
}

/** An event stays below this many bytes of JSON data (EventStoreDB refuses appends over 1 MB); larger things go to the blob store. */
export const maxEventBytes = 512 * 1024;
export const maxAppendBytes = 1_000_000;

/** About how many characters an event takes as JSON, without writing it out. */
export const textOf = ({ data, metadata }: Pick<Recorded, "data" | "metadata">): number =>
  textIn(data) + textIn(metadata);

function textIn(value: unknown): number {
  if (typeof value === "string") return value.length + 2;
  if (typeof value !== "object" || value === null) return 5;
  let size = 2;
  if (Array.isArray(value)) for (const item of value) size += textIn(item) + 1;
  else for (const key in value) size += key.length + 4 + textIn((value as Record<string, unknown>)[key]);
  return size;
}
