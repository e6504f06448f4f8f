import {
  type Appended,
  type Batch,
  type EventStore,
  type Expected,
  InvalidAppend,
  type NewEvent,
  StreamMoved,
  type SubscribeOptions,
  toExpected,
} from "#src/eventStore/eventStore.ts";
import { categoryOf, type Recorded } from "#streams/event.ts";

/** Makes an event log in memory behind the port, for tests about something else. It starts with the given events of another log. */
export function createMemoryEventStore(
  begin: readonly Recorded[] = [],
): EventStore & { readonly all: readonly Recorded[] } {
  const all: Recorded[] = begin.map(copyOf);
  const streams = new Map<string, Recorded[]>();
  for (const event of all) streams.set(event.stream, [...(streams.get(event.stream) ?? []), event]);
  const sleepers = new Set<() => void>();

  const eventsOf = (stream: string): Recorded[] => streams.get(stream) ?? [];
  const revisionOf = (stream: string): number => eventsOf(stream).length - 1;
  const wakeAll = (): void => {
    for (const wake of sleepers) wake();
  };

  function alreadyWritten(stream: string, expected: number, events: readonly NewEvent[]): Appended | undefined {
    const there = eventsOf(stream).slice(expected + 1, expected + 1 + events.length);
    if (there.length < events.length || there.some((event, index) => event.id !== events[index]?.id)) return undefined;
    const last = there[there.length - 1]!;
    return { revision: last.revision, position: last.position };
  }

  function requireUnmoved({ unlessMoved = [] }: Expected): void {
    for (const { stream, revision } of unlessMoved) {
      const actual = revisionOf(stream);
      if (actual !== revision) throw new StreamMoved(stream, revision, actual);
    }
  }

  function write(stream: string, events: readonly NewEvent[]): Appended {
    const target = eventsOf(stream);
    streams.set(stream, target);
    for (const event of events) {
      const stored = copyOf(event);
      const schemaVersion = event.schemaVersion ?? 1;
      const recorded = { ...stored, stream, revision: target.length, position: all.length + 1, schemaVersion };
      target.push(recorded);
      all.push(recorded);
    }
    wakeAll();
    return { revision: target.length - 1, position: all.length };
  }

  const untilSomething = (after: number, signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      const wake = (): void => {
        sleepers.delete(wake);
        signal.removeEventListener("abort", wake);
        resolve();
      };
      sleepers.add(wake);
      signal.addEventListener("abort", wake);
      if (all.length > after || signal.aborted) wake();
    });

  return {
    all,
    guards: true,
    async append(stream, wanted, events) {
      const expected = toExpected(wanted);
      if (events.length === 0) throw new InvalidAppend("nothing to append");
      const before = alreadyWritten(stream, expected.revision, events);
      if (before) return before;
      requireUnmoved(expected);
      const actual = revisionOf(stream);
      if (actual !== expected.revision) throw new StreamMoved(stream, expected.revision, actual);
      return write(stream, events);
    },
    async read(stream, fromRevision = 0, maxCount = Number.POSITIVE_INFINITY) {
      return eventsOf(stream)
        .slice(fromRevision, fromRevision + maxCount)
        .map(copyOf);
    },
    async readPage(stream, { from, events: count, bytes }) {
      const events: Recorded[] = [];
      let read = 0;
      for (const event of eventsOf(stream).slice(from, from + count)) {
        events.push(copyOf(event));
        read += JSON.stringify(event.data).length + JSON.stringify(event.metadata).length;
        if (read >= bytes) break;
      }
      return { events, atEnd: events.length < count && read < bytes };
    },
    async readLast(stream) {
      return copyOf(eventsOf(stream).at(-1));
    },
    async *subscribe({ after, categories, batchSize = 500, signal }: SubscribeOptions): AsyncIterable<Batch> {
      let position = after;
      while (!signal.aborted) {
        await untilSomething(position, signal);
        if (signal.aborted) return;
        const read = all.slice(position, position + batchSize);
        position += read.length;
        const events = read.filter((event) => !categories || categories.includes(categoryOf(event.stream)));
        yield { events: events.map(copyOf), position, caughtUp: position === all.length };
      }
    },
    async head() {
      return all.length;
    },
    async close() {
      wakeAll();
    },
  };
}

/** Deep-copies JSON values: several times as fast as structuredClone, which would take much of these tests' time. */
export function copyOf<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(copyOf) as T;
  if (Object.getPrototypeOf(value) !== Object.prototype) throw new TypeError("an event is JSON");
  const copy: Record<string, unknown> = {};
  for (const key in value) copy[key] = copyOf(value[key]);
  return copy as T;
}
