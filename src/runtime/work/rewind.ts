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
import { planned, putAlone } from "./processRows.ts";
import { endedObstacles, workOf } from "./workOf.ts";

export type RewindOptions = {
  store: EventStore;
  database: Database;
  clock: Clock;
  /** For the lease: different for every run. */
  holder: string;
  processes: readonly Process[];
  /** Whether a process passes over what lies between, as its declaration says or the operator. */
  skips: (process: Process) => boolean;
};

/** Milliseconds: from one page of the log to the next it may take that long. */
const lastsMs = 30_000;

/** What came of it. `logIsOlder`: the log ends before what this database has seen of it. */
export type Rewound = { between: Between[]; logIsOlder: boolean };

/** What lies between a process's position and the end of the log: how many events it listens to. */
export type Between = { process: string; stood: number; events: number; skipped: boolean };

/**
 * If the database is older than the event log, which a restore leaves behind: brings every process to the end of the log, as the planner
 * would, but without anything to do for those that skip. What the others have to do is in their lanes; an instance does it. `act` false: only
 * counts. Cut off, it goes on where it was. If the log is older than the database, the processes go back to its end first, what they had to
 * do about lost events is dropped, and the read models are made again at the next start. Throws StartError while an instance plans.
 */
export async function rewind(options: RewindOptions, { act }: { act: boolean }): Promise<Rewound> {
  const { store, database, processes, holder } = options;
  const [lease] = await takeLeases(database, [plannerLease], { holder, lastsMs });
  if (!lease) throw new StartError("An instance plans: stop every instance that has the role `processes` first.");
  try {
    const head = await store.head();
    const readers = readersOf(processes);
    await putAlone(database);
    const before = await planned(database, readers, head);
    if (head === 0) throw new StartError("The event log is empty: is this the right one?");
    const logIsOlder = Math.max(0, ...before.values()) > head;
    if (act && logIsOlder) await goBack(database, head);
    const now = await planned(database, readers, head);
    const stood = new Map([...now].map(([name, position]) => [name, Math.min(position, head)]));
    return { between: await goThrough(options, { act, head, stood, lease }), logIsOlder };
  } finally {
    await releaseLeases(database, [lease], holder);
  }
}

/** To the end of a log that has lost events. What is left is judged by its streams, so everything that was set aside is looked at again. */
async function goBack(database: Database, head: number): Promise<void> {
  const steps: [sql: string, ...values: unknown[]][] = [
    // The listeners are read again: what came and went in lost events is not known one by one.
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

/** The processes, and what the planner reads for itself. */
const readersOf = (processes: readonly Process[]): Process[] => [...processes, listenersReader];

type Way = { act: boolean; head: number; stood: Map<string, number>; lease: Lease };

async function goThrough(options: RewindOptions, { act, head, stood, lease }: Way): Promise<Between[]> {
  const { store, database, clock, processes, holder, skips } = options;
  const readers = readersOf(processes);
  const skipped = new Set(processes.filter(skips).map(({ name }) => name));
  const between = new Map<string, Between>(
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
    const work = workOf(events, from, { processes: behind, listeners, now: clock.now() });
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
