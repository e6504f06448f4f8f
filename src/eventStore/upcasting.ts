import type { Recorded } from "#streams/event.ts";
import { newestVersion, storedForm, type Upcasters, upcast, upcasters } from "#streams/upcast.ts";
import { type Batch, type EventStore, toUnreadable } from "./eventStore.ts";

/** Wraps an event store so that readers see every event in its newest version. Appended events name their own version. */
export function upcastReads(store: EventStore, known: Upcasters = upcasters): EventStore {
  const newest = (event: Recorded): Recorded => upcast(event, known);

  /** Returns an unreadable event as it is, so that it ends no subscription: only readers of its data fail on it. */
  function upcastIfReadable(event: Recorded): Recorded {
    try {
      return newest(event);
    } catch (error) {
      return toUnreadable({ ...event, stored: storedForm(event) }, error);
    }
  }

  return {
    guards: store.guards,
    append(stream, expected, events) {
      const versioned = events.map((event) => ({ schemaVersion: newestVersion(event.type, known), ...event }));
      return store.append(stream, expected, versioned);
    },
    async read(...request) {
      return (await store.read(...request)).map(newest);
    },
    async readPage(...request) {
      const { events, atEnd } = await store.readPage(...request);
      return { events: events.map(newest), atEnd };
    },
    async readLast(stream) {
      const last = await store.readLast(stream);
      return last && upcast(last, known);
    },
    async *subscribe(options): AsyncIterable<Batch> {
      for await (const batch of store.subscribe(options)) {
        yield { ...batch, events: batch.events.map(options.keepsUnreadable ? upcastIfReadable : newest) };
      }
    },
    head: () => store.head(),
    close: () => store.close(),
  };
}
