import type { Event, Metadata, Recorded } from "#streams/event.ts";

/** The revision of a stream that does not exist yet. */
export const noStream = -1;

/** An event to append. The id makes a retry recognisable: the same ids at the same expected revision succeed again. */
export type NewEvent<E extends Event = Event> = E & { id: string; schemaVersion?: number; metadata: Metadata };

/** Result of an append: the revision and position of its last event. */
export type Appended = { revision: number; position: number };

/** A stream, and the revision at which it was read. */
export type Guard = { stream: string; revision: number };

/** Revisions that an append expects; StreamMoved if one differs. */
export type Expected = {
  /** Expected revision of the stream itself (noStream = must not exist). */
  revision: number;
  /**
   * Other streams and their expected revisions, each once. Checked atomically with the append if `guards` is true; otherwise just before
   * it.
   */
  unlessMoved?: readonly Guard[];
};

/** Allows a plain revision for an append that expects nothing else, as most appends do. */
export const toExpected = (expected: number | Expected): Expected =>
  typeof expected === "number" ? { revision: expected } : expected;

export type SubscribeOptions = {
  /** Exclusive: the first event delivered has a higher position. 0 is the beginning. */
  after: number;
  /** Categories of streams to deliver; all if absent. */
  categories?: readonly string[];
  /** Events per batch (default 500). Adapters deliver at most this many; the composed store may add the rest of the last append. */
  batchSize?: number;
  /** True: an event that cannot be brought to its newest version is delivered, and only its data throw. Otherwise the subscription does. */
  keepsUnreadable?: boolean;
  /** Called when the log has grown beyond its end at `position`: events appended before it resolves are read together. */
  gather?: (position: number) => Promise<void>;
  signal: AbortSignal;
};

/**
 * A batch of a subscription: events in position order, each once, none left out. `position`: how far the log was read, also over events of
 * other categories; a checkpoint may move there once the batch is consumed. `caughtUp`: the batch reached the end of the log as it was. An
 * adapter may end a batch within an append; the composed store never does (atomicBatches.ts).
 */
export type Batch = { events: Recorded[]; position: number; caughtUp: boolean };

/** Part of a stream: events from a revision on (inclusive), `events` at most, cut after the event that makes it `bytes` long. */
export type StreamRange = { from: number; events: number; bytes: number };

/** Part of a stream, oldest first. `atEnd`: it is known that no event followed. */
export type StreamPage = { events: Recorded[]; atEnd: boolean };

/** Port of the event log. Both adapters pass test/eventStore/contract.ts. */
export type EventStore = {
  /** True if `unlessMoved` is judged in the same transaction as the append. */
  readonly guards: boolean;
  /**
   * Appends atomically at exactly this revision. Resolves when durable. Throws StreamMoved, InvalidAppend, or Unavailable: then the outcome
   * is unknown, and a caller must not assume one; the adapter has already retried the same ids for as long as `timeoutMs` allowed.
   */
  append(stream: string, expected: number | Expected, events: readonly NewEvent[]): Promise<Appended>;
  /**
   * Reads the events of one stream from `fromRevision` on (inclusive, default 0), oldest first; [] for a stream that does not exist.
   * Linearisable.
   */
  read(stream: string, fromRevision?: number, maxCount?: number): Promise<Recorded[]>;
  /** Reads part of one stream, at least one event if there is one. Linearisable. */
  readPage(stream: string, stretch: StreamRange): Promise<StreamPage>;
  /** Reads the last event of a stream. Linearisable. */
  readLast(stream: string): Promise<Recorded | undefined>;
  /**
   * Yields batches in position order until aborted; reconnects by itself; throws LogRewound. Consume one batch before asking for the next.
   */
  subscribe(options: SubscribeOptions): AsyncIterable<Batch>;
  /** Returns the position of the newest event, 0 for an empty log. */
  head(): Promise<number>;
  close(): Promise<void>;
};

/**
 * Reads events of a stream whose contract the caller knows: its category has no events other than `E`. `from`: a revision (inclusive,
 * default 0); `count`: maximum number.
 */
export const readEvents = async <E extends Event>(
  store: Pick<EventStore, "read">,
  stream: string,
  { from, count }: { from?: number; count?: number } = {},
): Promise<Recorded<E>[]> => (await store.read(stream, from, count)) as Recorded<E>[];

/** Yields the log from its beginning to the current head, batch by batch. `categories`: only streams of these; all if absent. */
export async function* readWholeLog(
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

/**
 * Returns the event in the form in which a subscription with `keepsUnreadable` delivers an unreadable one: accessing its data throws the
 * error.
 */
export function toUnreadable(event: Recorded, error: unknown): Recorded {
  const failing = Object.defineProperty({ ...event }, "data", {
    enumerable: false,
    get: () => {
      throw error;
    },
  });
  unreadable.add(failing);
  return failing;
}

/** True for an event that could not be read. Its type is the stored one, which may have been renamed since. */
export const isUnreadable = (event: Recorded): boolean => unreadable.has(event);

/** Another append was first. `actualRevision`: the current revision of the stream. */
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

/** A read model has not reached this position of the log in time. `of`: the names of those waited for. */
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

/** The database cancelled a statement that took too long: it may be overloaded, or the statement too expensive. */
export class StatementTimedOut extends Unavailable {
  override readonly name = "StatementTimedOut";
}

/**
 * The log is not the one that was read before: wiped, replaced, or restored from an older copy. Derived data no longer fit it, so a
 * subscription ends with this error, and no reader may continue from its checkpoint.
 */
export class LogRewound extends Error {
  override readonly name = "LogRewound";
}

/** An event stays below this many bytes of JSON data (EventStoreDB refuses appends over 1 MB); larger things go to the blob store. */
export const maxEventBytes = 512 * 1024;
export const maxAppendBytes = 1_000_000;

/** Estimates the characters of an event as JSON, without serialising it. */
export const estimateLength = ({ data, metadata }: Pick<Recorded, "data" | "metadata">): number =>
  textIn(data) + textIn(metadata);

function textIn(value: unknown): number {
  if (typeof value === "string") return value.length + 2;
  if (typeof value !== "object" || value === null) return 5;
  let size = 2;
  if (Array.isArray(value)) for (const item of value) size += textIn(item) + 1;
  else for (const key in value) size += key.length + 4 + textIn((value as Record<string, unknown>)[key]);
  return size;
}
