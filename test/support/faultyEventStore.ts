import { type EventStore, StreamMoved, Unavailable } from "#src/eventStore/eventStore.ts";
import { categoryOf } from "#streams/event.ts";

/** Simulates a dead process: its later calls have no effect. */
export class Crashed extends Error {
  override readonly name = "Crashed";
}

export type StoreFault = {
  /** Number of the append or reading through this store that fails, from 1. */
  at: number;
  /** Default: an append. */
  of?: "append" | "reading";
  /** Only readings of streams of these categories count. */
  categories?: readonly string[];
  when: "before" | "after";
  /** A function is called at that point and returns the fault, if any. */
  how: FaultKind | (() => Promise<"go on" | FaultKind>);
};

/**
 * unavailable: the call fails, and its caller cannot know the outcome. conflict: an append is answered as if another instance had been
 * faster. crash: the call fails, and so does every later one.
 */
type FaultKind = "unavailable" | "conflict" | "crash";

export type FaultyEventStore = EventStore & {
  readonly appends: number;
  readonly readings: number;
  readonly crashed: boolean;
  /** Blocks the next append to a stream of this category until `release` is called; `reached` resolves when it is blocked. */
  pause(category: string): { reached: Promise<void>; release(): void };
};

/** Wraps an event store, as one process sees it, with the given fault. */
export function faultyEventStore(store: EventStore, fault?: StoreFault): FaultyEventStore {
  let appends = 0;
  let readings = 0;
  let crashed = false;
  const barriers: { category: string; reach(): void; gate: Promise<void> }[] = [];

  async function fail(how: StoreFault["how"], stream: string): Promise<void> {
    const then = typeof how === "function" ? await how() : how;
    if (then === "go on") return;
    if (then === "conflict") throw new StreamMoved(stream, 0, 1);
    crashed = then === "crash";
    throw crashed ? new Crashed("crashed") : new Unavailable("the event store went away");
  }
  function alive<T>(work: () => T): T {
    if (crashed) throw new Crashed("crashed");
    return work();
  }
  /** Returns the fault if this call is the one that fails. */
  const faultAt = (of: NonNullable<StoreFault["of"]>, number: number): StoreFault | undefined =>
    fault?.at === number && (fault.of ?? "append") === of ? fault : undefined;
  async function reading<T>(stream: string, work: () => Promise<T>): Promise<T> {
    alive(() => undefined);
    const counts = fault?.categories?.includes(categoryOf(stream)) ?? true;
    if (counts) readings += 1;
    const now = counts ? faultAt("reading", readings) : undefined;
    if (now?.when === "before") await fail(now.how, stream);
    const found = await work();
    if (now?.when === "after") await fail(now.how, stream);
    return found;
  }

  return {
    ...store,
    guards: store.guards,
    get appends() {
      return appends;
    },
    get readings() {
      return readings;
    },
    get crashed() {
      return crashed;
    },
    pause(category) {
      let release = () => {};
      let reach = () => {};
      const gate = new Promise<void>((resolve) => {
        release = resolve;
      });
      const reached = new Promise<void>((resolve) => {
        reach = resolve;
      });
      barriers.push({ category, reach, gate });
      return { reached, release };
    },
    async append(stream, expected, events) {
      const barrier = barriers.findIndex(({ category }) => stream.startsWith(`${category}-`));
      if (barrier >= 0) {
        const [{ reach, gate }] = barriers.splice(barrier, 1) as [(typeof barriers)[number]];
        reach();
        await gate;
      }
      alive(() => undefined);
      appends += 1;
      const now = faultAt("append", appends);
      if (now?.when === "before") await fail(now.how, stream);
      const appended = await store.append(stream, expected, events);
      if (now?.when === "after") await fail(now.how, stream);
      return appended;
    },
    read: (stream, ...args) => reading(stream, () => store.read(stream, ...args)),
    readPage: (stream, ...args) => reading(stream, () => store.readPage(stream, ...args)),
    readLast: (stream, ...args) => reading(stream, () => store.readLast(stream, ...args)),
    head: async () => alive(() => store.head()),
  };
}
