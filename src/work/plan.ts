import type { Role, Sql } from "#src/postgres/database.ts";
import type { Lease } from "#src/subscriptions/leases.ts";
import type { Recorded } from "#streams/event.ts";
import { workspaceOf } from "./keys.ts";
import { type ListenerChanges, storeListeners } from "./listeners.ts";
import { wakeSetAside } from "./setAside.ts";
import { beginsWork } from "./transactions.ts";
import { storingTurnsAfterLanes, turnsOfWoken } from "./turns.ts";

/** An event that a process has to handle, and under which key. */
export type Planned = { process: string; key: string; event: Recorded };

/** One stretch of the log: what is to be done about it, for whom it is planned with that, and what it may be the end of. */
export type Plan = {
  planned: readonly Planned[];
  /** Processes standing alone that have everything up to `position` in their lanes now, and up to where they had before. */
  from: ReadonlyMap<string, number>;
  /** Where the front was, if all that are in step move on with it, and those of `from` join them. */
  front?: number;
  position: number;
  /** Streams that went on, with their newest revisions: lanes set aside under them are ready again. */
  moved: ReadonlyMap<string, number>;
  /** Rules and webhooks that came or went. */
  listeners?: ListenerChanges;
  now: Date;
};

/** Another instance plans, or the server has lost what was planned last. */
export class PlanMoved extends Error {
  override readonly name = "PlanMoved";
}

/**
 * Writes items, wakes their lanes and moves the processes on, all or nothing, and only as the one planner. Throws PlanMoved. What a crash of
 * the server takes back is planned again, all of it, so nobody waits for the disk.
 */
export async function writePlan(
  database: Role,
  plan: Plan,
  { lease, holder }: { lease: Pick<Lease, "name" | "epoch">; holder: string },
): Promise<void> {
  const { moved, listeners } = plan;
  const listenersChanged = listeners !== undefined && (listeners.began.size > 0 || listeners.ended.length > 0);
  if (moved.size === 0 && !listenersChanged) return addWork(database, plan, { lease, holder });
  const streams = [...moved.keys()];
  await database.transaction(async (tx) => {
    await tx.query(beginsWork);
    if (moved.size > 0) await moveTags(tx, plan);
    await lockLanes(tx, plan, streams);
    await addWork(tx, plan, { lease, holder });
    if (listenersChanged) await storeListeners(tx, listeners);
    if (moved.size > 0) await wakeSetAside(tx, streams);
  });
}

/** One statement: a plan is written with almost every event. The front is locked before rows of processes, as in processRows.ts. */
async function addWork(
  sql: Sql,
  { planned, from, front, position, now }: Plan,
  { lease, holder }: { lease: Pick<Lease, "name" | "epoch">; holder: string },
): Promise<void> {
  const lanes = [...new Map(planned.map((each) => [JSON.stringify([each.process, each.key]), each])).values()];
  const { rows } = await sql.query<{ complete: boolean }>(
    `with held as (
       select set_config('synchronous_commit', 'off', true) from work.leases
       where name = $5 and epoch = $6 and holder = $7 for share
     ),
     front as (select position from work.front where position = $16 and exists (select from held) for update),
     mine as (
       select name from work.processes join unnest($8::text[], $9::bigint[]) as stood (name, planned) using (name, planned)
       where exists (select from held) and (select count(*) from front) >= 0 order by name for update of processes
     ),
     whole as (
       select exists (select from held) and (select count(*) from mine) = cardinality($8::text[])
         and ($16::bigint is null or exists (select from front)) as complete
     ),
     moved_on as (
       update work.processes process set planned = case when $16::bigint is null then $10::bigint end
       from mine, whole where whole.complete and process.name = mine.name
     ),
     front_moved_on as (
       update work.front set position = $10 from whole where whole.complete and $16::bigint is not null
     ),
     added as (
       insert into work.items (process, key, position, stream, revision, due_at)
       select process, key, position, stream, revision, '-infinity'
       from unnest($11::text[], $12::text[], $13::bigint[], $14::text[], $15::bigint[])
         as item (process, key, position, stream, revision), whole
       where whole.complete on conflict do nothing
     ),
     woken as (
       select process, key, workspace from unnest($1::text[], $2::text[], $3::text[]) as lane (process, key, workspace), whole
       where whole.complete
     ),
     ${turnsOfWoken},
     lanes as (
       insert into work.lanes as lane (process, key, workspace, state, turn)
       select process, key, workspace, 'ready', turn from woken join turns using (process, key) order by process, key
       on conflict (process, key) do update set generation = lane.generation + 1,
         workspace = case when lane.workspace = '' then excluded.workspace else lane.workspace end,
         state = case when ${isWoken} then 'ready' else lane.state end,
         turn = case when ${isWoken} then excluded.turn else lane.turn end,
         obstacles = case when ${isWoken} then null else lane.obstacles end
       returning 1
     ),
     ${storingTurnsAfterLanes}
     select complete from whole`,
    [
      lanes.map(({ process }) => process),
      lanes.map(({ key }) => key),
      lanes.map(({ event }) => workspaceOf(event)),
      now,
      lease.name,
      lease.epoch,
      holder,
      [...from.keys()],
      [...from.values()],
      position,
      planned.map(({ process }) => process),
      planned.map(({ key }) => key),
      planned.map(({ event }) => event.position),
      planned.map(({ event }) => event.stream),
      planned.map(({ event }) => event.revision),
      front ?? null,
    ],
  );
  if (!rows[0]!.complete) throw new PlanMoved("another instance plans now, or the stored plan has gone back");
}

const isWoken = "lane.state = 'waiting' and (lane.retry_at is null or lane.retry_at <= $4)";

/**
 * Whoever sets a lane aside locks the stream's row too, before anything else: so it either sees this end or is seen by what follows. All of one
 * try of those that are set aside is over with it.
 */
async function moveTags(tx: Sql, { moved }: Plan): Promise<void> {
  await tx.query(
    `insert into work.tags as tag (stream, revision) select * from unnest($1::text[], $2::bigint[]) as moved order by 1
     on conflict (stream) do update
       set revision = greatest(tag.revision, excluded.revision), try_at = null, tried_process = null, tried_key = null`,
    [[...moved.keys()], [...moved.values()]],
  );
}

/** Turns are given twice in one transaction: all lanes are locked before the first. */
async function lockLanes(tx: Sql, { planned }: Plan, streams: readonly string[]): Promise<void> {
  await tx.query(
    `select from work.lanes where (process, key) in (select * from unnest($1::text[], $2::text[]))
       or (state = 'waiting' and obstacles && $3::text[])
     order by process, key for no key update`,
    [planned.map(({ process }) => process), planned.map(({ key }) => key), streams],
  );
}
