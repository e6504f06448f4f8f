import type { EventStore } from "#src/eventStore/eventStore.ts";
import type { Event, Recorded } from "#streams/event.ts";

/** Maximum number of events and bytes read at once. */
const page = { events: 500, bytes: 2_000_000 };

type Store = Pick<EventStore, "readPage">;

/**
 * Yields the events of a stream up to a time, page by page: those before the first one that is later. `from`: the first revision. A page is
 * whole if the stream or the time did not end it.
 */
export async function* pagesUntil<E extends Event = Event>(
  store: Store,
  stream: string,
  { at, from = 0 }: { at: Date; from?: number },
): AsyncGenerator<{ events: Recorded<E>[]; whole: boolean }> {
  for (let next = from; ; ) {
    const { events, atEnd } = await store.readPage(stream, { from: next, ...page });
    const later = events.findIndex(({ metadata }) => Date.parse(metadata.at) > at.getTime());
    const whole = later === -1 && !atEnd;
    yield { events: (later === -1 ? events : events.slice(0, later)) as Recorded<E>[], whole };
    if (!whole) return;
    next += events.length;
  }
}

/** Returns the events of a stream up to a time, oldest first. */
export async function eventsUntil<E extends Event = Event>(
  store: Store,
  stream: string,
  at: Date,
): Promise<Recorded<E>[]> {
  const all: Recorded<E>[] = [];
  for await (const { events } of pagesUntil<E>(store, stream, { at })) all.push(...events);
  return all;
}

/** Streams that are read concurrently. */
const atOnce = 20;

/** Reads the streams of several ids, some at a time, in the order of the ids. */
export async function readEach<Id, Read>(ids: readonly Id[], read: (id: Id) => Promise<Read>): Promise<Read[]> {
  const all: Read[] = [];
  for (let from = 0; from < ids.length; from += atOnce)
    all.push(...(await Promise.all(ids.slice(from, from + atOnce).map(read))));
  return all;
}
