import { type EventStore, noStream, readEvents } from "#src/eventStore/eventStore.ts";
import type { Decider } from "#streams/decider.ts";
import type { Event } from "#streams/event.ts";

/** A stream's state, with its revision and position then: -1 and 0 for a stream that does not exist. */
export type Loaded<State> = { state: State; revision: number; position: number };

const pageSize = 500;

/**
 * Folded states of the streams used last, so that a long stream is not read from its start each time. A stale entry does no harm:
 * appends carry the revision it was folded at, and `refresh` reads what is newer.
 */
export function createStateCache(store: EventStore, size: number) {
  const states = new Map<string, Loaded<unknown>>();

  function put(stream: string, loaded: Loaded<unknown>): void {
    const known = states.get(stream);
    if (known && known.revision > loaded.revision) return;
    states.delete(stream);
    states.set(stream, loaded);
    if (states.size > size) states.delete(states.keys().next().value as string);
  }

  return {
    put,
    peek: <State>(stream: string) => states.get(stream) as Loaded<State> | undefined,
    async refresh<State, E extends Event>(decider: Decider<State, never, E>, stream: string): Promise<Loaded<State>> {
      let { state, revision, position } = (states.get(stream) as Loaded<State> | undefined) ?? {
        state: decider.initial,
        revision: noStream,
        position: 0,
      };
      for (;;) {
        const events = await readEvents<E>(store, stream, { from: revision + 1, count: pageSize });
        for (const event of events) {
          state = decider.evolve(state, event);
          ({ revision, position } = event);
        }
        if (events.length < pageSize) break;
      }
      const loaded = { state, revision, position };
      put(stream, loaded);
      return loaded;
    },
  };
}
