import { newestVersion, type Upcasters, upcast, upcasters } from "#streams/upcast.ts";
import type { Batch, EventStore } from "./eventStore.ts";

/** An event store whose readers see every event in its newest version, whichever it was stored in; what is written says its own. */
export function upcasting(store: EventStore, known: Upcasters = upcasters): EventStore {
  return {
    guards: store.guards,
    append(stream, expected, events) {
      const versioned = events.map((event) => ({ schemaVersion: newestVersion(event.type, known), ...event }));
      return store.append(stream, expected, versioned);
    },
    async read(...request) {
      return (await store.read(...request)).map((event) => upcast(event, known));
    },
    async readLast(stream) {
      const last = await store.readLast(stream);
      return last && upcast(last, known);
    },
    async *subscribe(options): AsyncIterable<Batch> {
      for await (const batch of store.subscribe(options)) {
        yield { ...batch, events: batch.events.map((event) => upcast(event, known)) };
      }
    },
    head: () => store.head(),
    close: () => store.close(),
  };
}
