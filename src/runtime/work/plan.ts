import type { DatabaseRole, Sql } from "#src/platform/postgres/database.ts";
import type { Timer } from "#src/processes/process.ts";
import type { Lease } from "#src/runtime/projections/leases.ts";
import type { Recorded } from "#streams/event.ts";
import { workspaceOf } from "./keys.ts";
import type { LaneId } from "./lane.ts";
import { type ListenerChanges, storeListeners } from "./listeners.ts";
import { type SetTimer, setTimers } from "./timerChanges.ts";
import { assignTurnsSql, storeTurnsSql } from "./turns.ts";

/** An event that a process has to handle, and under which key. `timer`: set instead of adding an item for the event. */
export type PlannedEvent = { process: string; key: string; event: Recorded; timer?: Timer };

/** Work from one stretch of the log, the processes whose positions it advances, and the obstacles it may end. */
export type WorkPlan = {
  planned: readonly PlannedEvent[];
  /** Processes with positions of their own that are planned up to `position` by this plan, and their positions before it. */
  from: ReadonlyMap<string, number>;
  /** Position of the front before this plan, if it moves the front. The processes of `from` then join it. */
  front?: number;
  position: number;
  /**
   * Streams on which an obstacle may have ended, with the revision of that event: lanes set aside under them are woken soon (setAside.ts).
   */
  ended: ReadonlyMap<string, number>;
  /** Listeners that were created or deleted. */
  listeners?: ListenerChanges;
};

/** Identity of the planner: its lease and holder. */
export type Planner = { lease: Pick<Lease, "name" | "epoch">; holder: string };

/** Thrown if another instance has planned since, or the server has lost the last plan in a crash. */
export class PlanMoved extends Error {
  override readonly name = "PlanMoved";
}

/**
 * Writes items, wakes their lanes and advances the processes' positions, all or nothing, and only while the lease is held. Throws
 * PlanMoved. A plan that is lost in a crash of the server is made again, so no plan waits for the disk.
 */
export async function writePlan(database: DatabaseRole, plan: WorkPlan, planner: Planner): Promise<void> {
  const { planned, ended, from, listeners } = plan;
  const listenersChanged = listeners !== undefined && (listeners.began.size > 0 || listeners.ended.length > 0);
  // As a rule a plan only advances the front.
  if (planned.length === 0 && ended.size === 0 && from.size === 0 && !listenersChanged)
    return advancePositions(database, plan, planner);
  await database.transaction(async (tx) => {
    await advancePositions(tx, plan, planner);
    if (ended.size > 0) await recordEndedObstacles(tx, ended);
    const now = planned.filter(({ timer }) => timer === undefined);
    if (now.length > 0) await addItems(tx, now);
    if (planned.length > 0) await wakeLanes(tx, planned);
    await setTimers(tx, timersOf(planned));
    if (listenersChanged) await storeListeners(tx, listeners);
  });
}

/** `dueAt`: due time of its earliest timer. */
type PlannedLane = LaneId & { workspace: string; wakes: boolean; dueAt: Date | undefined };

/** Returns each lane once, with the workspace of its newest event. */
function lanesOf(planned: readonly PlannedEvent[]): PlannedLane[] {
  const lanes = new Map<string, PlannedLane>();
  for (const { process, key, event, timer } of planned) {
    const id = JSON.stringify([process, key]);
    const before = lanes.get(id);
    const wakes = timer === undefined || before?.wakes === true;
    const dueAt = before?.dueAt && !(timer && timer.dueAt < before.dueAt) ? before.dueAt : timer?.dueAt;
    lanes.set(id, { process, key, workspace: workspaceOf(event), wakes, dueAt });
  }
  return [...lanes.values()];
}

/** Returns each timer once, as it was set last. */
function timersOf(planned: readonly PlannedEvent[]): SetTimer[] {
  const set = planned.flatMap(({ process, timer }) => (timer ? { process, set: timer } : []));
  return [...new Map(set.map((one) => [JSON.stringify([one.process, one.set.key, one.set.name]), one])).values()];
}

/**
 * Advances positions. Locks the lease until the plan is written. The front is moved before the processes' rows, the order in which
 * processPositions.ts locks them.
 */
async function advancePositions(
  sql: Sql,
  { from, front, position }: WorkPlan,
  { lease, holder }: Planner,
): Promise<void> {
  const planner = [lease.name, lease.epoch, holder];
  if (front !== undefined) {
    const { rowCount } = await sql.query(
      `${ifHeld} update work.front set position = $4 from held where position = $5`,
      [...planner, position, front],
    );
    if (rowCount !== 1) throw new PlanMoved(moved);
  }
  if (from.size === 0) return;
  const { rowCount } = await sql.query(
    `${ifHeld} update work.processes set planned = $6::bigint
     from held, unnest($4::text[], $5::bigint[]) as stood (name, planned)
     where processes.name = stood.name and processes.planned = stood.planned`,
    [...planner, [...from.keys()], [...from.values()], front === undefined ? position : null],
  );
  if (rowCount !== from.size) throw new PlanMoved(moved);
}

const ifHeld = "with held as (select from work.leases where name = $1 and epoch = $2 and holder = $3 for share)";
const moved = "another instance plans now, or the stored plan has gone back";

/**
 * Records ended obstacles. A worker that sets a lane aside also locks the stream's row before any lane: either it sees this end, or its
 * lane is woken by it.
 */
async function recordEndedObstacles(tx: Sql, ended: WorkPlan["ended"]): Promise<void> {
  await tx.query(
    `insert into work.tags as tag (stream, revision) select * from unnest($1::text[], $2::bigint[]) as ended order by 1
     on conflict (stream) do update set revision = excluded.revision, wake_before = nextval('work.places')
       where tag.revision < excluded.revision`,
    [[...ended.keys()], [...ended.values()]],
  );
}

async function addItems(tx: Sql, planned: readonly PlannedEvent[]): Promise<void> {
  await tx.query(
    `insert into work.items (process, key, position, stream, revision, due_at)
     select *, '-infinity' from unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::bigint[]) as item
     on conflict do nothing`,
    [
      planned.map(({ process }) => process),
      planned.map(({ key }) => key),
      planned.map(({ event }) => event.position),
      planned.map(({ event }) => event.stream),
      planned.map(({ event }) => event.revision),
    ],
  );
}

/** Makes planned lanes ready, except those waiting for a retry. A new lane that has only timers is created as waiting. */
async function wakeLanes(tx: Sql, planned: readonly PlannedEvent[]): Promise<void> {
  const lanes = lanesOf(planned);
  await tx.query(
    `with given as (
       select * from unnest($1::text[], $2::text[], $3::text[], $4::boolean[], $5::timestamptz[]) as lane (process, key, workspace, wakes, due_at)
     ),
     woken as (select process, key, workspace from given where wakes),
     ${assignTurnsSql},
     lanes as (
       insert into work.lanes as lane (process, key, workspace, state, turn, due_at)
       select process, key, workspace, case when wakes then 'ready' else 'waiting' end, coalesce(turn, 0), coalesce(due_at, 'infinity')
       from given left join turns using (process, key) order by process, key
       on conflict (process, key) do update set generation = lane.generation + 1,
         workspace = case when lane.workspace = '' then excluded.workspace else lane.workspace end,
         state = case when ${isWoken} then 'ready' else lane.state end,
         turn = case when ${isWoken} then excluded.turn else lane.turn end,
         due_at = case when lane.state = 'waiting' and lane.retry_at is null then least(lane.due_at, excluded.due_at) else lane.due_at end,
         obstacles = case when ${isWoken} then null else lane.obstacles end
       returning 1
     ),
     ${storeTurnsSql}
     select`,
    [
      lanes.map(({ process }) => process),
      lanes.map(({ key }) => key),
      lanes.map(({ workspace }) => workspace),
      lanes.map(({ wakes }) => wakes),
      lanes.map(({ dueAt }) => dueAt ?? null),
    ],
  );
}

const isWoken = "excluded.state = 'ready' and lane.state = 'waiting' and lane.retry_at is null";
