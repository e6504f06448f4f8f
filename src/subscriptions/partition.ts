import type { Clock } from "#src/clock.ts";
import type { EventStore } from "#src/eventStore/eventStore.ts";
import type { Database } from "#src/postgres/database.ts";
import type { Process, ProcessContext, Timer } from "#src/processes/process.ts";
import type { Recorded } from "#streams/event.ts";
import { attempt, type Ended, type Trying } from "./attempts.ts";
import { createLanes, type Slot } from "./lanes.ts";
import type { Held } from "./leaseKeeper.ts";
import { isEvent, type Parked, park, parkAgain, removeParked } from "./parked.ts";
import { createProgress } from "./progress.ts";
import { asError, type Backoff, isPassing, type Log, pause } from "./retrying.ts";
import { createTimers, type DueTimer, type Holding, isStillDue, removeTimer } from "./timers.ts";

export type PartitionOptions = {
  store: EventStore;
  database: Database;
  clock: Clock;
  log: Log;
  holder: string;
  process: Process;
  held: Held;
  /** Handlers running at once. */
  concurrency: number;
  /** Events taken from the log that wait or run; at this many reading pauses. */
  maxQueued: number;
  backoff: Backoff;
  /** Told of every timer this process sets. */
  onTimerSet: (dueAt: Date) => void;
};

export type Partition = {
  /** Takes events from the log until the lease's signal. */
  read(): Promise<void>;
  addTimer(timer: DueTimer): void;
  addParked(parked: Parked): void;
  /** Revisions of timers and ids of parked items that wait or run. */
  readonly timersInHand: ReadonlySet<string>;
  readonly parkedInHand: ReadonlySet<number>;
  /** True where the log was read up to `head` and nothing waits or runs. */
  idleAt(head: number): boolean;
  /** Resolves when nothing waits or runs. */
  settled(): Promise<void>;
};

type Work = { key: string; item: Recorded | Timer };

const longLane = 50;
const maxSpilled = 100_000;

/** One process at work under its lease: events, due timers and retried parked items, in order per key. */
export function createPartition(options: PartitionOptions): Partition {
  const { store, database, clock, log, holder, process, held, concurrency, maxQueued, backoff } = options;
  const holding: Holding = { sql: database, process: process.name, lease: held, holder };
  const timers = createTimers(holding, options.onTimerSet);
  const lanes = createLanes(concurrency);
  const progress = createProgress(held.position);
  const timersInHand = new Set<string>();
  const parkedInHand = new Set<number>();
  /** Events in the lanes that are not kept in memory. */
  let spilled = 0;

  async function read(): Promise<void> {
    for (let failures = 0; !held.signal.aborted; ) {
      try {
        for await (const batch of subscribe()) {
          failures = 0;
          for (const event of batch.events) await takeEvent(event);
          if (held.signal.aborted) return;
          progress.readUpTo(batch.position);
          held.position = progress.checkpoint();
        }
      } catch (error) {
        log.error({ err: error, process: process.name }, "a process cannot read the event log, retrying");
        await pause(backoff(++failures), held.signal);
      }
    }
  }

  const subscribe = () =>
    store.subscribe({ after: progress.read(), categories: process.categories, signal: held.signal });

  async function takeEvent(event: Recorded): Promise<void> {
    if (!process.on[event.type]) return;
    const limit = spilled < maxSpilled ? maxQueued + spilled : maxQueued;
    await lanes.below(limit);
    if (held.signal.aborted) return;
    progress.take(event.position);
    const key = keyOf(event);
    const { position } = event;
    const kept = keep(key, event);
    lanes.add(key, async (slot) => {
      const found = await kept(slot);
      if (!found || !(await finish(slot, { key, item: found }, await tryOn(slot, key, found)))) return;
      progress.handled(position);
      held.position = progress.checkpoint();
    });
  }

  /** A key that does not get on must not fill the queue that all share: what comes late in its lane is read again when its turn comes. */
  function keep(key: string, event: Recorded): (slot: Slot) => Promise<Recorded | undefined> {
    if (lanes.waiting(key) < longLane) return async () => event;
    spilled += 1;
    const { stream, revision } = event;
    return async (slot) => {
      let found: Recorded | undefined;
      await insist(slot, async () => {
        [found] = await store.read(stream, revision, 1);
      });
      spilled -= 1;
      return found;
    };
  }

  /** An event whose key cannot be told fails, and is parked, under its stream. */
  function keyOf(event: Recorded): string {
    try {
      return process.keyOf(event);
    } catch {
      return event.stream;
    }
  }

  function tryOn(slot: Slot, key: string, item: Recorded | Timer): Promise<Ended> {
    const describe = {
      process: process.name,
      key,
      ...(isEvent(item) ? { position: item.position } : { timer: item.name }),
    };
    const trying: Trying = { held, log, backoff, never: process.givingUp === "never", describe };
    return attempt(trying, slot, (tries) => handle(item, tries));
  }

  /** What a handler does with timers counts as part of it, also where it did not wait for it. */
  async function handle(item: Recorded | Timer, attempt: number): Promise<void> {
    const underWay: Promise<void>[] = [];
    const followed =
      <T extends unknown[]>(change: (...args: T) => Promise<void>) =>
      (...args: T): Promise<void> => {
        const done = change(...args);
        underWay.push(done);
        done.catch(() => undefined);
        return done;
      };
    const context: ProcessContext = {
      timers: { set: followed(timers.set), cancel: followed(timers.cancel) },
      attempt,
      signal: held.signal,
    };
    if (!isEvent(item)) await process.onTimer?.(item, context);
    else {
      process.keyOf(item);
      await process.on[item.type]?.(item, context);
    }
    await Promise.all(underWay);
  }

  /** True where nothing more is to be done about it: it is handled, or parked. */
  async function finish(slot: Slot, { key, item }: Work, ended: Ended): Promise<boolean> {
    if (ended.how !== "failed") return ended.how === "handled";
    log.error({ err: ended.error, process: process.name, key, tries: ended.tries }, "gave up and parked the item");
    const lastWords = await lastResort(slot, item, ended.error);
    const error = [ended.error.stack ?? ended.error.message, ...lastWords].join("\n");
    return insist(slot, () => park(holding, { key, item, error, tries: ended.tries, at: clock.now() }));
  }

  /** The rule's own way to give up; what goes wrong in it is parked along. */
  async function lastResort(slot: Slot, item: Recorded | Timer, error: Error): Promise<string[]> {
    const { givingUp } = process;
    if (typeof givingUp !== "function") return [];
    const words: string[] = [];
    await insist(slot, async () => {
      try {
        await givingUp(item, error);
      } catch (failure) {
        if (isPassing(failure)) throw failure;
        log.error({ err: failure, process: process.name }, "the process's last resort failed");
        words.push(`the last resort failed: ${asError(failure).message}`);
      }
    });
    return words;
  }

  /** Until it succeeds, once at least; false where it failed and the lease's signal has come. */
  async function insist(slot: Slot, work: () => Promise<void>): Promise<boolean> {
    for (let failures = 1; ; failures++) {
      try {
        await work();
        return true;
      } catch (error) {
        if (held.signal.aborted) return false;
        log.warn({ err: error, process: process.name }, "cannot record progress, retrying");
        await slot.without(() => pause(backoff(failures), held.signal));
      }
    }
  }

  function addTimer(timer: DueTimer): void {
    timersInHand.add(timer.revision);
    lanes.add(timer.key, async (slot) => {
      let due = false;
      const looked = await insist(slot, async () => {
        due = await isStillDue(database, timer);
      });
      const { key, name, dueAt, payload } = timer;
      const item: Timer = { key, name, dueAt, payload };
      if (looked && due && (await finish(slot, { key, item }, await tryOn(slot, key, item)))) {
        await insist(slot, () => removeTimer(database, timer));
      }
      timersInHand.delete(timer.revision);
    });
  }

  function addParked({ id, key, item: stored }: Parked): void {
    const item = isEvent(stored) ? stored : { ...stored, dueAt: new Date(stored.dueAt) };
    parkedInHand.add(id);
    lanes.add(key, async (slot) => {
      const ended = await tryOn(slot, key, item);
      if (ended.how === "handled") await insist(slot, () => removeParked(database, id));
      if (ended.how === "failed") {
        const error = ended.error.stack ?? ended.error.message;
        await insist(slot, () => parkAgain(database, id, { error, tries: ended.tries, at: clock.now() }));
      }
      parkedInHand.delete(id);
    });
  }

  return {
    read,
    addTimer,
    addParked,
    timersInHand,
    parkedInHand,
    idleAt: (head) => progress.read() >= head && lanes.size() === 0,
    settled: () => lanes.below(1),
  };
}
