import { setMaxListeners } from "node:events";
import type { EventStore } from "#src/eventStore/eventStore.ts";
import type { Clock } from "#src/platform/clock.ts";
import { crashPoint } from "#src/platform/crashPoints.ts";
import type { Database } from "#src/platform/postgres/database.ts";
import type { Process } from "#src/processes/process.ts";
import type { Held } from "#src/runtime/projections/leaseKeeper.ts";
import { createPace } from "#src/runtime/projections/pace.ts";
import { asError, type Backoff, isPassing, type Log, pause, pauseAfter } from "#src/runtime/projections/retrying.ts";
import type { Recorded } from "#streams/event.ts";
import { obstacleCategories } from "#streams/obstacleEnds.ts";
import { listenersReader, loadListeners } from "./listeners.ts";
import { PlanMoved, writePlan } from "./plan.ts";
import { planned, putInStep, storedPlanned } from "./processRows.ts";
import type { Worker } from "./worker.ts";
import { endedObstacles, workOf } from "./workOf.ts";

export type PlannerOptions = {
  store: EventStore;
  database: Database;
  clock: Clock;
  log: Log;
  holder: string;
  processes: readonly Process[];
  backoff: Backoff;
  /** The same instance's worker, which claims what is planned at once. */
  worker: Pick<Worker, "wake">;
  /** Called with the position up to which everything that asks something of a process is planned: what is stored may be a second behind it. */
  onReached?: (position: number) => void;
};

/** Milliseconds for which more events are waited for after a quiet while: appends of one request follow each other closely. */
const gatherMs = 10;

/** Milliseconds between two reads of the stored plan, and for which it may stay behind where the log asks nothing of anybody. */
const lookEveryMs = 1_000;

/**
 * Reads the log once for all processes and writes what each has to do into its lanes. One instance at a time does this, under a lease. It
 * waits for no handler. Ends with the lease's signal.
 */
export async function plan(options: PlannerOptions, held: Held): Promise<void> {
  const { log, backoff } = options;
  for (let failures = 0; !held.signal.aborted; ) {
    const round = new AbortController();
    const signal = AbortSignal.any([held.signal, round.signal]);
    // Each process that was left behind reads by itself, and listens to it.
    setMaxListeners(0, signal);
    let failure: unknown;
    try {
      await planFromStored({ ...options, onProgress: () => (failures = 0) }, held, signal);
    } catch (error) {
      failure = error;
      if (!held.signal.aborted) tellOf(error, log);
    }
    // What still reads, beside the one that failed, ends.
    round.abort();
    await pause(pauseAfter(failure, ++failures, backoff), held.signal);
  }
}

function tellOf(error: unknown, log: Log): void {
  if (error instanceof PlanMoved) return;
  if (isPassing(error)) log.warn({ reason: asError(error).message }, "cannot plan the event log, retrying");
  else log.error({ err: error }, "the event log cannot be planned, retrying");
}

/** A stretch of the log up to a position. */
type Stretch = { events: readonly Recorded[]; position: number };

type Planning = PlannerOptions & { onProgress: () => void };

async function planFromStored(options: Planning, held: Held, signal: AbortSignal): Promise<void> {
  const { database, store, clock, log, backoff, holder, worker, onProgress, onReached = () => {} } = options;
  const processes = [...options.processes, listenersReader];
  const stood = await planned(database, processes, await store.head());
  let front = await putInStep(database, processes);
  const listeners = await loadListeners(database);
  const pace = createPace(clock);
  let writing: Promise<unknown> = Promise.resolve();

  const together = new Set(processes.filter(({ name }) => stood.get(name)! === front));
  const behind = processes.filter((process) => !together.has(process));
  /** Those of `together` that have no position of their own in the database. */
  const inStep = new Set([...together].map(({ name }) => name));
  let reached = front;

  /**
   * One plan at a time, for those that have not got so far yet. The front moves with those that are together; if there is nothing else to write,
   * only where that `mustMove`: otherwise it moves with the next plan that writes something.
   */
  function write(group: Iterable<Process>, { events, position }: Stretch, mustMove: boolean): Promise<void> {
    const done = writing.then(async () => {
      if (signal.aborted) return;
      const those = [...group].filter(({ name }) => stood.get(name)! < position);
      if (those.length === 0) return;
      const from = new Map(those.map(({ name }) => [name, stood.get(name)!]));
      const work = workOf(events, from, { processes: those, listeners, now: clock.now() });
      const ended = endedObstacles(events);
      const changes = listeners.changes();
      if (!mustMove && work.length + ended.size + changes.began.size + changes.ended.length === 0) return;
      const plan = {
        ...{ planned: work, position, ended, listeners: changes },
        from: new Map([...from].filter(([name]) => !inStep.has(name))),
        ...(group === together && { front }),
      };
      const isWritten = await patiently(() => writePlan(database, plan, { lease: held, holder }), {
        ...{ log, backoff, signal },
      });
      if (isWritten) crashPoint("work:planned");
      if (isWritten && work.some(({ timer }) => timer === undefined)) worker.wake();
      if (!isWritten || signal.aborted) return;
      for (const name of from.keys()) stood.set(name, position);
      if (group === together) {
        for (const name of from.keys()) inStep.add(name);
        front = position;
      }
      onProgress();
    });
    writing = done.catch(() => undefined);
    return done;
  }

  const subscribe = (group: Iterable<Process>, after: number) => {
    const categories = [...new Set([...[...group].flatMap((process) => process.categories), ...obstacleCategories])];
    const gather = (): Promise<void> => pause(gatherMs, signal);
    return store.subscribe({ after, categories, signal, gather, keepsUnreadable: true });
  };

  function tellReached(): void {
    if (!signal.aborted && together.size === processes.length) onReached(reached);
  }

  async function planTogether(): Promise<void> {
    for await (const batch of subscribe(processes, front)) {
      await pace.taking(() => write(together, batch, false));
      reached = batch.position;
      tellReached();
      // What comes meanwhile is in the next batch.
      await pace.next();
    }
    if (!signal.aborted) throw new Error("the event store was closed under its reader");
  }

  /** Those that are new, or were left behind, at one place read for themselves until they have caught up: the others do not wait for them. */
  async function catchUp(group: readonly Process[], after: number): Promise<void> {
    for await (const batch of subscribe(group, after)) {
      await write(group, batch, true);
      if (batch.position < reached) continue;
      for (const process of group) together.add(process);
      tellReached();
      return;
    }
  }

  const moveFront = (): Promise<void> => write(together, { events: [], position: reached }, true);

  const places = [...new Set(behind.map(({ name }) => stood.get(name)!))];
  const left = places.map((place) =>
    catchUp(
      behind.filter(({ name }) => stood.get(name) === place),
      place,
    ),
  );
  await Promise.all([planTogether(), ...left, watch({ database, processes, stood, signal, log, moveFront })]);
}

/** Tries again what passes by itself: the reading goes on where it is. False if the signal came first. */
async function patiently(
  work: () => Promise<void>,
  { log, backoff, signal }: { log: Log; backoff: Backoff; signal: AbortSignal },
): Promise<boolean> {
  for (let failures = 1; !signal.aborted; failures++) {
    try {
      await work();
      return true;
    } catch (error) {
      if (!isPassing(error)) throw error;
      tellOf(error, log);
      await pause(pauseAfter(error, failures, backoff), signal);
    }
  }
  return false;
}

/**
 * Stores how far the log is read, once a second. A server that crashed may have lost what was planned last, without any statement failing. Ends by
 * throwing PlanMoved, or with the signal.
 */
async function watch({
  database,
  processes,
  stood,
  signal,
  log,
  moveFront,
}: {
  database: Database;
  log: Log;
  moveFront: () => Promise<void>;
  processes: readonly Process[];
  stood: ReadonlyMap<string, number>;
  signal: AbortSignal;
}): Promise<void> {
  while (!signal.aborted) {
    const before = new Map(stood);
    const stored = await storedPlanned(database, processes).catch((error) => {
      if (!isPassing(error)) throw error;
      tellOf(error, log);
      return before;
    });
    for (const [name, position] of before) {
      if ((stored.get(name) ?? -1) < position) throw new PlanMoved("the stored plan has gone back");
    }
    await pause(lookEveryMs, signal);
    await moveFront();
  }
}
