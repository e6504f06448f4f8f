import type { EventStore } from "#src/eventStore/eventStore.ts";
import type { Clock } from "#src/platform/clock.ts";
import type { Database, Sql } from "#src/platform/postgres/database.ts";
import { StartError } from "#src/platform/startError.ts";
import type { Process } from "#src/processes/process.ts";
import { type Lease, releaseLeases, renewEveryMs, renewLeases, takeLeases } from "#src/runtime/projections/leases.ts";
import { obstacleCategories } from "#streams/obstacleEnds.ts";
import { listenersReader, loadListeners } from "./listeners.ts";
import { writePlan } from "./plan.ts";
import { plannerLease } from "./plannerLease.ts";
import { loadPositions, separatePositions } from "./processPositions.ts";
import { endedObstacles, relevantEvents } from "./relevantEvents.ts";

export type RewindOptions = {
  store: EventStore;
  database: Database;
  clock: Clock;
  /** Holder of the lease: unique for every run. */
  holder: string;
  processes: readonly Process[];
  /** True if a process skips the events between, because its declaration or the operator says so. */
  skips: (process: Process) => boolean;
};

/** Milliseconds the lease lasts: reading one page of the log may take that long. */
const lastsMs = 30_000;

/** Result of a rewind. `logIsOlder`: the log ends before a position that this database has reached. */
export type Rewound = { between: RewindGap[]; logIsOlder: boolean };

/** Gap between a process's position and the end of the log. `events`: number of the events in it that the process has to handle. */
export type RewindGap = { process: string; stood: number; events: number; skipped: boolean };

/**
 * Repairs a database that a restore left older than the event log: brings every process to the end of the log, as the planner would, but
 * plans nothing for those that skip. The work of the others is put into their lanes; an instance does it. With `act` false only counts. If
 * cut off, continues from where it was. If the log is older than the database, first moves the processes back to its end, drops their work
 * about lost events, and marks the read models for a rebuild at the next start. Throws StartError while an instance plans.
 */
export async function rewind(options: RewindOptions, { act }: { act: boolean }): Promise<Rewound> {
  const { store, database, processes, holder } = options;
  const [lease] = await takeLeases(database, [plannerLease], { holder, lastsMs });
  if (!lease) throw new StartError("An instance plans: stop every instance that has the role `processes` first.");
  try {
    const head = await store.head();
    const readers = readersOf(processes);
    await separatePositions(database);
    const before = await loadPositions(database, readers, head);
    if (head === 0) throw new StartError("The event log is empty: is this the right one?");
    const logIsOlder = Math.max(0, ...before.values()) > head;
    if (act && logIsOlder) await rewindToShorterLog(database, head);
    const now = await loadPositions(database, readers, head);
    const stood = new Map([...now].map(([name, position]) => [name, Math.min(position, head)]));
    return { between: await planMissedEvents(options, { act, head, stood, lease }), logIsOlder };
  } finally {
    await releaseLeases(database, [lease], holder);
  }
}

/**
 * Moves everything back to the end of a log that has lost events. Remaining work is judged by its streams, so all lanes set aside become
 * ready.
 */
async function rewindToShorterLog(database: Database, head: number): Promise<void> {
  const steps: [sql: string, ...values: unknown[]][] = [
    // Reads the listeners again from the beginning, because it is unknown which of them the lost events created or deleted.
    ["delete from work.listeners"],
    ["update work.processes set planned = 0 where name = $1", listenersReader.name],
    ["update work.processes set planned = $1 where planned > $1", head],
    ["delete from work.items where position > $1", head],
    ["delete from work.parked where position > $1", head],
    ["update work.tags set revision = -1, wake_before = null"],
    ["update work.lanes set state = 'ready', obstacles = null where state = 'waiting' and obstacles is not null"],
    [
      `update work.webhook_deliveries set status = 'canceled', error = 'its event was lost', started_at = null, ended_at = clock_timestamp()
       where status = 'pending' and position > $1`,
      head,
    ],
    [
      "update work.read_models set version = 0 where checkpoint in (select name from work.checkpoints where position > $1)",
      head,
    ],
    ["update work.checkpoints set position = 0, generation = generation + 1 where position > $1", head],
  ];
  await database.transaction(async (tx: Sql) => {
    for (const [sql, ...values] of steps) await tx.query(sql, values);
  });
}

/** The processes, and the planner's own reader of listeners. */
const readersOf = (processes: readonly Process[]): Process[] => [...processes, listenersReader];

type RewindRun = { act: boolean; head: number; stood: Map<string, number>; lease: Lease };

async function planMissedEvents(options: RewindOptions, { act, head, stood, lease }: RewindRun): Promise<RewindGap[]> {
  const { store, database, clock, processes, holder, skips } = options;
  const readers = readersOf(processes);
  const skipped = new Set(processes.filter(skips).map(({ name }) => name));
  const between = new Map<string, RewindGap>(
    processes.map(({ name }) => [
      name,
      { process: name, stood: stood.get(name)!, events: 0, skipped: skipped.has(name) },
    ]),
  );
  const categories = [...new Set([...readers.flatMap((reader) => reader.categories), ...obstacleCategories])];
  const listeners = await loadListeners(database);
  const done = new AbortController();
  let renewedAt = clock.monotonic();
  const slowest = Math.min(...stood.values());
  if (slowest >= head) return [...between.values()];
  const unread = { after: slowest, categories, signal: done.signal, keepsUnreadable: true };
  for await (const { events, position } of store.subscribe(unread)) {
    const behind = readers.filter(({ name }) => stood.get(name)! < position);
    const from = new Map(behind.map(({ name }) => [name, stood.get(name)!]));
    const work = relevantEvents(events, from, { processes: behind, listeners, now: clock.now() });
    for (const { process } of work) between.get(process)!.events += 1;
    if (clock.monotonic() - renewedAt > renewEveryMs) {
      renewedAt = clock.monotonic();
      await renewLeases(database, [lease], { holder, lastsMs });
    }
    if (act && behind.length > 0) {
      const left = work.filter(({ process }) => !skipped.has(process));
      const plan = { planned: left, from, position, ended: endedObstacles(events), listeners: listeners.changes() };
      await writePlan(database, plan, { lease, holder });
    }
    for (const { name } of behind) stood.set(name, position);
    if (position >= head) break;
  }
  done.abort();
  return [...between.values()];
}
