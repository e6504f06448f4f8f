import type { Clock } from "#src/clock.ts";
import type { EventStore } from "#src/eventStore/eventStore.ts";
import type { Database } from "#src/postgres/database.ts";
import type { Process } from "#src/processes/process.ts";
import { type Held, keepLeases, type LeaseKeeper } from "./leaseKeeper.ts";
import { retriesRequested } from "./parked.ts";
import { createPartition, type Partition } from "./partition.ts";
import { asError, type Backoff, backoffMs, type Log, pause } from "./retrying.ts";
import { dueTimers } from "./timers.ts";

export type ProcessRunnerOptions = {
  store: EventStore;
  database: Database;
  /** Says when timers are due. */
  clock: Clock;
  logger: Log;
  /** Different for every running instance. */
  instanceId: string;
  processes: readonly Process[];
  /** Handlers of one process that run at once (default 32). */
  concurrency?: number;
  /** Events of one process that wait or run at once (default 1,000); then reading the log waits. */
  maxQueued?: number;
  backoff?: Backoff;
};

export type ProcessStatus = { name: string; held: boolean; position: number | null };

export type ProcessRunner = {
  start(): void;
  /** Tells handlers to end, waits for them (10 s at most), stores the checkpoints, gives the work to other instances. */
  stop(): Promise<void>;
  /** Resolves once all events up to the end of the log are handled and no timer is due. For tests: this instance must hold all processes. */
  idle(): Promise<void>;
  status(): ProcessStatus[];
};

/** The name of a process's lease. */
export const leaseOf = (process: string): string => `process:${process}`;

const pollEveryMs = 250;
const graceMs = 10_000;

/** Runs each process while this instance holds its lease, and stands by for those that others hold. */
export function createProcessRunner(options: ProcessRunnerOptions): ProcessRunner {
  const { store, database, clock, logger: log, instanceId, processes } = options;
  const { concurrency = 32, maxQueued = 1000, backoff = backoffMs } = options;
  const partitions = new Map<string, { partition: Partition; held: Held }>();
  const byLease = new Map(processes.map((process) => [leaseOf(process.name), process]));
  const stopping = new AbortController();
  const nap = createNap();
  let keeper: LeaseKeeper | undefined;
  let polling: Promise<void> | undefined;

  async function work(held: Held): Promise<void> {
    const process = byLease.get(held.name)!;
    const common = { store, database, clock, log, holder: instanceId, maxQueued, backoff, onTimerSet };
    const own = process.concurrency ?? concurrency;
    const partition = createPartition({ ...common, concurrency: own, process, held });
    partitions.set(process.name, { partition, held });
    await partition.read();
    partitions.delete(process.name);
    // Whoever has lost its lease has nothing to record: its handlers may end when they like.
    if (!held.lost()) await within(graceMs, partition.settled());
  }

  /** One that is due before the next look need not wait for it. */
  function onTimerSet(dueAt: Date): void {
    const inMs = dueAt.getTime() - clock.now().getTime();
    if (inMs < pollEveryMs) setTimeout(nap.wake, Math.max(0, inMs)).unref();
  }

  /** Hands due timers, and parked items to be tried again, to those who do their process's work. */
  async function poll(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        await handOutTimers();
        await handOutParked();
      } catch (error) {
        log.warn({ reason: asError(error).message }, "timers cannot be looked up: trying again");
      }
      await nap.sleep(pollEveryMs);
    }
  }

  async function handOutTimers(): Promise<void> {
    if (partitions.size === 0) return;
    const inHand = [...partitions.values()].flatMap(({ partition }) => [...partition.timersInHand]);
    for (const timer of await dueTimers(database, [...partitions.keys()], { now: clock.now(), except: inHand })) {
      partitions.get(timer.process)?.partition.addTimer(timer);
    }
  }

  async function handOutParked(): Promise<void> {
    if (partitions.size === 0) return;
    const inHand = [...partitions.values()].flatMap(({ partition }) => [...partition.parkedInHand]);
    for (const parked of await retriesRequested(database, [...partitions.keys()], inHand)) {
      partitions.get(parked.process)?.partition.addParked(parked);
    }
  }

  async function isIdle(): Promise<boolean> {
    const head = await store.head();
    const atRest = (): boolean =>
      processes.every(({ name }) => partitions.get(name)?.partition.idleAt(head)) && partitions.size > 0;
    if (processes.length > 0 && !atRest()) return false;
    const names = processes.map(({ name }) => name);
    const due = (await dueTimers(database, names, { now: clock.now(), except: [] })).length;
    const retries = (await retriesRequested(database, names, [])).length;
    return due + retries === 0 && (processes.length === 0 || atRest()) && (await store.head()) === head;
  }

  return {
    start() {
      const names = [...byLease.keys()];
      keeper ??= keepLeases({ database, clock, log, holder: instanceId, names, work });
      polling ??= poll();
    },
    async stop() {
      stopping.abort();
      nap.wake();
      await polling;
      await keeper?.stop();
    },
    async idle() {
      while (!stopping.signal.aborted && !(await isIdle())) await pause(10, stopping.signal);
    },
    status: () =>
      processes.map(({ name }) => {
        const held = partitions.get(name)?.held;
        return { name, held: held !== undefined, position: held?.position ?? null };
      }),
  };
}

async function within(milliseconds: number, work: Promise<void>): Promise<void> {
  const done = new AbortController();
  await Promise.race([work, pause(milliseconds, done.signal)]);
  done.abort();
}

/** A sleep that can be cut short; woken while awake, the next one is skipped. */
function createNap() {
  let woken = false;
  let end: (() => void) | undefined;
  return {
    wake(): void {
      woken = true;
      end?.();
    },
    async sleep(milliseconds: number): Promise<void> {
      if (!woken) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, milliseconds);
          end = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
      end = undefined;
      woken = false;
    },
  };
}
