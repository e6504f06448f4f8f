import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { createStreamServices } from "#src/commands/handle.ts";
import { createStates, type StatesOptions } from "#src/commands/states/states.ts";
import { type EventStore, noStream } from "#src/eventStore/eventStore.ts";
import { systemClock, systemIds } from "#src/platform/clock.ts";
import type { Event } from "#streams/event.ts";
import { streams } from "#streams/index.ts";
import { system } from "#test/support/cause.ts";
import { createMemoryEventStore } from "#test/support/memoryEventStore.ts";
import { createMemorySnapshots } from "#test/support/memorySnapshots.ts";

export const quota = "quota-w-lifetime";
export const cause = system();

/** Records the lines logged for the operator. */
const recordingLog = () => {
  const said: string[] = [];
  const say = (_: object, sentence: string): void => void said.push(sentence);
  return { said, info: say, warn: say };
};

/** Wraps an event store and counts what is read. */
export function counted<Store extends Pick<EventStore, "readPage" | "readLast">>(store: Store) {
  const counts = { pages: 0, events: 0, lasts: 0, mostBytes: 0 };
  return {
    ...store,
    counts,
    async readPage(...[stream, stretch]: Parameters<EventStore["readPage"]>) {
      const page = await store.readPage(stream, stretch);
      counts.pages += 1;
      counts.events += page.events.length;
      counts.mostBytes = Math.max(counts.mostBytes, JSON.stringify(page.events).length);
      return page;
    },
    async readLast(stream: string) {
      counts.lasts += 1;
      return store.readLast(stream);
    },
  };
}

/** A log with snapshots, and instances that know nothing yet. */
export function world() {
  const log = createMemoryEventStore();
  const kept = createMemorySnapshots();
  const said = recordingLog();
  let rules = new Map<string, string>(Object.values(streams).map(({ decider }) => [decider.category, "first rules"]));
  const instance = ({ store: given = log, ...options }: Partial<StatesOptions> & { store?: EventStore } = {}) => {
    const store = counted(given);
    const snapshots = { kept, rules, log: said };
    const states = createStates({ snapshots, ...options, store });
    const services = createStreamServices({ store, states, clock: systemClock, ids: systemIds });
    return { ...services, states, snapshots, counts: store.counts };
  };
  return {
    ...{ log, kept, said: said.said, instance },
    upgrade: (category: string) => {
      rules = new Map(rules).set(category, "other rules");
    },
  };
}

export type World = ReturnType<typeof world>;

/** Appends these at the stream's end, as another instance does. */
export async function append(log: EventStore, stream: string, events: readonly Event[]): Promise<void> {
  const last = (await log.readLast(stream))?.revision ?? noStream;
  const metadata = { ...cause, at: "2026-01-01T00:00:00.000Z" };
  await log.append(
    stream,
    last,
    events.map((event) => ({ ...event, id: randomUUID(), metadata })),
  );
}

/** Reservations from number `from` on. */
export const reserveMany = (
  log: EventStore,
  { from = 0, to, text = "" }: { from?: number; to: number; text?: string },
): Promise<void> => {
  const numbers = Array.from({ length: to - from }, (_, index) => from + index);
  const reserved = (n: number) => ({ type: "QuotaReserved", data: { reservationId: `${n}${text}` } });
  return append(log, quota, numbers.map(reserved));
};

/** Waits until background work has ended. */
export async function until(holds: () => boolean): Promise<void> {
  const deadline = performance.now() + 10_000;
  while (!holds()) {
    if (performance.now() > deadline) throw new Error("it did not come to that within 10 s");
    await sleep(1);
  }
}
