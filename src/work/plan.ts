import { isUnreadable } from "#src/eventStore/eventStore.ts";
import type { Role, Sql } from "#src/postgres/database.ts";
import type { Lease } from "#src/subscriptions/leases.ts";
import type { Recorded } from "#streams/event.ts";
import { type EventItem, type Item, type ItemRow, isEventItem, itemColumns, itemsOf, itemsOfTurn } from "./items.ts";
import { workspaceOf } from "./keys.ts";
import { type Claimed, type LaneId, newlyClaimedUntil, type Taken } from "./lanes.ts";
import { type ListenerChanges, storeListeners } from "./listeners.ts";
import { movingOn, movingOnValues } from "./movingOn.ts";
import { beginsWork } from "./transactions.ts";
import { storingTurnsAndClaims, turnsOfWoken } from "./turns.ts";

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
  /** Streams on which an obstacle may have ended, with the revision of that: lanes set aside under them are woken soon (setAside.ts). */
  ended: ReadonlyMap<string, number>;
  /** Rules and webhooks that came or went. */
  listeners?: ListenerChanges;
  now: Date;
};

/** Who plans, by its lease. `room`: processes of which it has room for all that this plan makes ready. */
export type Planner = { lease: Pick<Lease, "name" | "epoch">; holder: string; room?: readonly string[] };

/** Lanes that were claimed with the plan, and whether others are ready, to be claimed by a worker that has room. */
export type Written = { taken: Taken[]; ready: boolean };

/** Another instance plans, or the server has lost what was planned last. */
export class PlanMoved extends Error {
  override readonly name = "PlanMoved";
}

/**
 * Writes items, wakes their lanes and moves the processes on, all or nothing, and only as the one planner. Throws PlanMoved. What a crash of the server takes back is planned again, all of it, so nobody waits for the disk.
 */
export async function writePlan(database: Role, plan: Plan, planner: Planner): Promise<Written> {
  const { ended, listeners } = plan;
  const listenersChanged = listeners !== undefined && (listeners.began.size > 0 || listeners.ended.length > 0);
  if (ended.size === 0 && !listenersChanged) return addWork(database, plan, planner);
  return database.transaction(async (tx) => {
    await tx.query(beginsWork);
    if (ended.size > 0) await moveTags(tx, plan);
    const written = await addWork(tx, plan, planner);
    if (listenersChanged) await storeListeners(tx, listeners);
    return written;
  });
}

/** Each lane once, with the workspace of its newest event. */
export function lanesOf(planned: readonly Planned[]): (LaneId & { workspace: string })[] {
  const lanes = new Map(
    planned.map(({ process, key, event }) => [
      JSON.stringify([process, key]),
      { process, key, workspace: workspaceOf(event) },
    ]),
  );
  return [...lanes.values()];
}

type Row = { complete: boolean; ready: boolean; items: ItemRow[] | null } & (Claimed | { claim: null });

/** Where there is nothing to do: a third of what the whole statement costs. */
async function moveOn(sql: Sql, plan: Plan, planner: Planner): Promise<void> {
  const { rows } = await sql.query<Pick<Row, "complete">>(
    `${movingOn} select complete from whole`,
    movingOnValues(plan, planner),
  );
  requireComplete(rows);
}

function requireComplete([row]: readonly Pick<Row, "complete">[]): void {
  if (!row!.complete) throw new PlanMoved("another instance plans now, or the stored plan has gone back");
}

/**
 * One statement: a plan is written with almost every event.
 *
 * A lane is claimed here if none of its process is ready, which would come before it, and if it is new or waits as this statement saw it when
 * it began (`seen`): whatever else changes a lane that waits, changes its generation, and then its items may be others.
 */
async function addWork(sql: Sql, plan: Plan, planner: Planner): Promise<Written> {
  const { planned, now } = plan;
  if (planned.length === 0) {
    await moveOn(sql, plan, planner);
    return { taken: [], ready: false };
  }
  const lanes = lanesOf(planned);
  const { rows } = await sql.query<Row>(
    `${movingOn},
     added as (
       insert into work.items (process, key, position, stream, revision, due_at)
       select process, key, position, stream, revision, '-infinity'
       from unnest($12::text[], $13::text[], $14::bigint[], $15::text[], $16::bigint[])
         as item (process, key, position, stream, revision), whole
       where whole.complete on conflict do nothing
       returning *
     ),
     woken as (
       select process, key, workspace from unnest($8::text[], $9::text[], $10::text[]) as lane (process, key, workspace), whole
       where whole.complete
     ),
     ${turnsOfWoken},
     with_room as (
       select process from unnest($17::text[]) as with_room (process)
       where not exists (select from work.lanes other where other.process = with_room.process and other.state = 'ready')
     ),
     given as materialized (
       select woken.process, woken.key, woken.workspace, turns.turn, coalesce(seen.generation, 1) as generation,
         case when seen.state is null and with_room.process is not null then 'claimed' else 'ready' end as state,
         case when with_room.process is not null and coalesce(seen.state, 'waiting') = 'waiting' then gen_random_uuid() end as claim
       from woken join turns using (process, key) left join with_room using (process)
         left join work.lanes seen on seen.process = woken.process and seen.key = woken.key
     ),
     lanes as (
       insert into work.lanes as lane (process, key, workspace, state, turn, generation, claim, holder, claimed_until)
       select process, key, workspace, state, turn, generation, claim, case when state = 'claimed' then $3 end,
         case when state = 'claimed' then ${newlyClaimedUntil} end
       from given order by process, key
       on conflict (process, key) do update set generation = lane.generation + 1,
         workspace = case when lane.workspace = '' then excluded.workspace else lane.workspace end,
         state = case when ${isTaken} then 'claimed' when ${isWoken} then 'ready' else lane.state end,
         claim = case when ${isTaken} then excluded.claim else lane.claim end,
         holder = case when ${isTaken} then $3 else lane.holder end,
         claimed_until = case when ${isTaken} then ${newlyClaimedUntil} else lane.claimed_until end,
         retry_at = case when ${isTaken} then null else lane.retry_at end,
         turn = case when ${isWoken} then excluded.turn else lane.turn end,
         obstacles = case when ${isWoken} then null else lane.obstacles end
       returning process, key, workspace, state, turn, claim, generation
     ),
     taken as (
       select lanes.* from lanes join given using (process, key, claim) where lanes.state = 'claimed'
     ),
     ${storingTurnsAndClaims("(process, key) in (select process, key from taken)")}
     select complete, exists (select from lanes where state = 'ready') as ready, taken.process, taken.key, taken.workspace, taken.claim, taken.generation, (
       select json_agg(due) from (
         select ${itemColumns} from (
           select * from work.items item where item.process = taken.process and item.key = taken.key and item.due_at <= $11
           union all select * from added item where item.process = taken.process and item.key = taken.key
         ) item order by position, due_at, id limit ${itemsOfTurn}
       ) due
     ) as items
     from whole left join taken on true order by taken.turn`,
    [
      ...movingOnValues(plan, planner),
      lanes.map(({ process }) => process),
      lanes.map(({ key }) => key),
      lanes.map(({ workspace }) => workspace),
      now,
      planned.map(({ process }) => process),
      planned.map(({ key }) => key),
      planned.map(({ event }) => event.position),
      planned.map(({ event }) => event.stream),
      planned.map(({ event }) => event.revision),
      planner.room ?? [],
    ],
  );
  requireComplete(rows);
  const events = new Map(planned.map(({ event }) => [event.position, event]));
  const taken = rows.flatMap(({ complete, ready, items, ...lane }) =>
    lane.claim === null ? [] : { lane, items: itemsOf(items).map((item) => withEvent(item, events)) },
  );
  return { taken, ready: rows[0]!.ready };
}

/** What was just read need not be read again. One that cannot be read fails where it is handled. */
function withEvent(item: Item, events: ReadonlyMap<number, Recorded>): Item {
  const event = isEventItem(item) ? events.get(item.position) : undefined;
  return event && !isUnreadable(event) ? { ...(item as EventItem), event } : item;
}

const isWoken = "lane.state = 'waiting' and (lane.retry_at is null or lane.retry_at <= $11)";
const isTaken = `${isWoken} and excluded.claim is not null and lane.generation = excluded.generation`;

/** A worker that sets a lane aside locks the stream's row too, before anything else: so it either sees this end, or is seen by what wakes its lane. */
async function moveTags(tx: Sql, { ended }: Plan): Promise<void> {
  await tx.query(
    `insert into work.tags as tag (stream, revision) select * from unnest($1::text[], $2::bigint[]) as ended order by 1
     on conflict (stream) do update set revision = excluded.revision, wake_before = nextval('work.places')
       where tag.revision < excluded.revision`,
    [[...ended.keys()], [...ended.values()]],
  );
}
