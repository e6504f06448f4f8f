import type { Sql } from "#src/postgres/database.ts";
import type { Lease } from "#src/subscriptions/leases.ts";
import type { Recorded } from "#streams/event.ts";
import { givingTurns } from "./turns.ts";

/** An event that a process has to handle, and under which key. */
export type Planned = { process: string; key: string; event: Recorded };

/** One stretch of the log: what is to be done about it, for whom it is planned with that, and what it may be the end of. */
export type Plan = {
  planned: readonly Planned[];
  /** Processes that have everything up to `position` in their lanes now, and up to where they had before. */
  from: ReadonlyMap<string, number>;
  position: number;
  /** Streams that went on, with their newest revisions: lanes set aside under them are ready again. */
  moved: ReadonlyMap<string, number>;
  now: Date;
};

/** Another instance plans, or the server has lost what was planned last. */
export class PlanMoved extends Error {
  override readonly name = "PlanMoved";
}

/** Writes items, wakes their lanes and moves the processes on, all or nothing, and only as the one planner. Throws PlanMoved. */
export async function writePlan(
  tx: Sql,
  plan: Plan,
  { lease, holder }: { lease: Pick<Lease, "name" | "epoch">; holder: string },
): Promise<void> {
  // What a crash of the server takes back is planned again, all of it.
  await tx.query("set local synchronous_commit = off");
  const { rowCount } = await tx.query(
    "select 1 from work.leases where name = $1 and epoch = $2 and holder = $3 for share",
    [lease.name, lease.epoch, holder],
  );
  if (rowCount === 0) throw new PlanMoved("another instance plans now");
  await moveOn(tx, plan);
  if (plan.planned.length > 0) await addItems(tx, plan);
  if (plan.moved.size > 0) await endObstacles(tx, plan);
}

async function moveOn(tx: Sql, { from, position }: Plan): Promise<void> {
  const { rowCount } = await tx.query(
    `with mine as (
       select name from work.processes join unnest($1::text[], $2::bigint[]) as stood (name, planned) using (name, planned)
       order by name for update of processes
     )
     update work.processes process set planned = $3 from mine where process.name = mine.name`,
    [[...from.keys()], [...from.values()], position],
  );
  if (rowCount !== from.size) throw new PlanMoved("the stored plan is not where it was left");
}

async function addItems(tx: Sql, { planned, now }: Plan): Promise<void> {
  const events = planned.map(({ event }) => event);
  await tx.query(
    `insert into work.items (process, key, position, stream, revision, due_at)
     select process, key, position, stream, revision, '-infinity'
     from unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::bigint[]) as item (process, key, position, stream, revision)
     on conflict do nothing`,
    [
      planned.map(({ process }) => process),
      planned.map(({ key }) => key),
      events.map(({ position }) => position),
      events.map(({ stream }) => stream),
      events.map(({ revision }) => revision),
    ],
  );
  const lanes = new Map(planned.map((each) => [JSON.stringify([each.process, each.key]), each]));
  await tx.query(
    `with woken as (
       select * from unnest($1::text[], $2::text[], $3::text[]) as lane (process, key, workspace)
     ),
     ${givingTurns}
     insert into work.lanes as lane (process, key, workspace, state, turn)
     select process, key, workspace, 'ready', turn from woken join turns using (process, key) order by process, key
     on conflict (process, key) do update set generation = lane.generation + 1,
       workspace = case when lane.workspace = '' then excluded.workspace else lane.workspace end,
       state = case when ${isWoken} then 'ready' else lane.state end,
       turn = case when ${isWoken} then excluded.turn else lane.turn end,
       obstacles = case when ${isWoken} then null else lane.obstacles end`,
    [
      [...lanes.values()].map(({ process }) => process),
      [...lanes.values()].map(({ key }) => key),
      [...lanes.values()].map(({ event }) => event.metadata.workspaceId ?? ""),
      now,
    ],
  );
}

const isWoken = "lane.state = 'waiting' and (lane.retry_at is null or lane.retry_at <= $4)";

/** The order matters: whoever sets a lane aside locks the stream's row first, so it either sees this end or is seen here. */
async function endObstacles(tx: Sql, { moved }: Plan): Promise<void> {
  await tx.query(
    `insert into work.tags as tag (stream, revision) select * from unnest($1::text[], $2::bigint[]) as moved order by 1
     on conflict (stream) do update set revision = greatest(tag.revision, excluded.revision)`,
    [[...moved.keys()], [...moved.values()]],
  );
  await tx.query(
    `with woken as (
       select process, key, workspace from work.lanes where state = 'waiting' and obstacles && $1::text[]
       order by process, key for no key update
     ),
     ${givingTurns}
     update work.lanes lane set state = 'ready', turn = turns.turn, generation = generation + 1, obstacles = null
     from turns where lane.process = turns.process and lane.key = turns.key`,
    [[...moved.keys()]],
  );
}
