import { setMaxListeners } from "node:events";
import type { EventStore } from "#src/eventStore/eventStore.ts";
import type { Clock } from "#src/platform/clock.ts";
import { crashPoint } from "#src/platform/crashPoints.ts";
import type { Database } from "#src/platform/postgres/database.ts";
import type { Process } from "#src/processes/process.ts";
import type { HeldLease } from "#src/runtime/projections/leaseKeeper.ts";
import { createPace } from "#src/runtime/projections/pace.ts";
import {
  asError,
  type Backoff,
  isTransient,
  pause,
  pauseAfterFailures,
  type RunnerLog,
} from "#src/runtime/projections/retrying.ts";
import type { Recorded } from "#streams/event.ts";
import { obstacleCategories } from "#streams/obstacleEnds.ts";
import { listenersReader, loadListeners } from "./listeners.ts";
import { PlanMoved, writePlan } from "./plan.ts";
import { joinSharedPosition, loadPositions, readPositions } from "./processPositions.ts";
import { endedObstacles, relevantEvents } from "./relevantEvents.ts";
import type { Worker } from "./worker.ts";

export type PlannerOptions = {
  store: EventStore;
  database: Database;
  clock: Clock;
  log: RunnerLog;
  holder: string;
  processes: readonly Process[];
  backoff: Backoff;
  /** Worker of this instance, woken to claim planned work at once. */
  worker: Pick<Worker, "wake">;
  /** Called with the position up to which all events are planned. The stored position may be a second behind it. */
  onReached?: (position: number) => void;
};

/** Milliseconds for which further events are gathered after a quiet period: appends of one request follow each other closely. */
const gatherMs = 10;

/** Milliseconds between two reads of the stored plan. The stored position may lag as long behind events that concern no process. */
const lookEveryMs = 1_000;

/**
 * Reads the log once for all processes and writes their work into their lanes. One instance at a time does this, under a lease. Waits for
 * no handler. Ends with the lease's signal.
 */
export async function runPlanner(options: PlannerOptions, held: HeldLease): Promise<void> {
  const { log, backoff } = options;
  for (let failures = 0; !held.signal.aborted; ) {
    const round = new AbortController();
    const signal = AbortSignal.any([held.signal, round.signal]);
    // Each process that is behind reads the log by itself and listens to this signal.
    setMaxListeners(0, signal);
    let failure: unknown;
    try {
      await planFromStored({ ...options, onProgress: () => (failures = 0) }, held, signal);
    } catch (error) {
      failure = error;
      if (!held.signal.aborted) logFailure(error, log);
    }
    // End the readers that did not fail, too.
    round.abort();
    await pause(pauseAfterFailures(failure, ++failures, backoff), held.signal);
  }
}

function logFailure(error: unknown, log: RunnerLog): void {
  if (error instanceof PlanMoved) return;
  if (isTransient(error)) log.warn({ reason: asError(error).message }, "cannot plan the event log, retrying");
  else log.error({ err: error }, "the event log cannot be planned, retrying");
}

/** Events of a stretch of the log, up to a position. */
type LogStretch = { events: readonly Recorded[]; position: number };

type Planning = PlannerOptions & { onProgress: () => void };

async function planFromStored(options: Planning, held: HeldLease, signal: AbortSignal): Promise<void> {
  const { database, store, clock, log, backoff, holder, worker, onProgress, onReached = () => {} } = options;
  const processes = [...options.processes, listenersReader];
  const stood = await loadPositions(database, processes, await store.head());
  let front = await joinSharedPosition(database, processes);
  const listeners = await loadListeners(database);
  const pace = createPace(clock);
  let writing: Promise<unknown> = Promise.resolve();

  const together = new Set(processes.filter(({ name }) => stood.get(name)! === front));
  const behind = processes.filter((process) => !together.has(process));
  /** Names of the processes of `together` that have no position of their own in the database: they move with the front. */
  const inStep = new Set([...together].map(({ name }) => name));
  let reached = front;

  /**
   * Writes one plan at a time, for the processes of a group that are not at its position yet. A plan without work is written only if
   * `mustMove`: otherwise the front moves with the next plan that has some.
   */
  function write(group: Iterable<Process>, { events, position }: LogStretch, mustMove: boolean): Promise<void> {
    const done = writing.then(async () => {
      if (signal.aborted) return;
      const those = [...group].filter(({ name }) => stood.get(name)! < position);
      if (those.length === 0) return;
      const from = new Map(those.map(({ name }) => [name, stood.get(name)!]));
      const work = relevantEvents(events, from, { processes: those, listeners, now: clock.now() });
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
      // Events that arrive during the pause are in the next batch.
      await pace.next();
    }
    if (!signal.aborted) throw new Error("the event store was closed under its reader");
  }

  /**
   * Reads the log for processes that are new or behind at one position, until they have caught up with the others, which do not wait for
   * them.
   */
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

/** Retries transient failures without losing the reader's position. False if the signal came first. */
async function patiently(
  work: () => Promise<void>,
  { log, backoff, signal }: { log: RunnerLog; backoff: Backoff; signal: AbortSignal },
): Promise<boolean> {
  for (let failures = 1; !signal.aborted; failures++) {
    try {
      await work();
      return true;
    } catch (error) {
      if (!isTransient(error)) throw error;
      logFailure(error, log);
      await pause(pauseAfterFailures(error, failures, backoff), signal);
    }
  }
  return false;
}

/**
 * Stores the position of the front once a second, and checks the stored positions: a server that crashed may have lost the last plans
 * without any statement failing. Ends by throwing PlanMoved, or with the signal.
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
  log: RunnerLog;
  moveFront: () => Promise<void>;
  processes: readonly Process[];
  stood: ReadonlyMap<string, number>;
  signal: AbortSignal;
}): Promise<void> {
  while (!signal.aborted) {
    const before = new Map(stood);
    const stored = await readPositions(database, processes).catch((error) => {
      if (!isTransient(error)) throw error;
      logFailure(error, log);
      return before;
    });
    for (const [name, position] of before) {
      if ((stored.get(name) ?? -1) < position) throw new PlanMoved("the stored plan has gone back");
    }
    await pause(lookEveryMs, signal);
    await moveFront();
  }
}
