import type { DatabaseRole, Sql } from "#src/platform/postgres/database.ts";
import { type Capacity, namesAtLimit } from "./capacity.ts";
import { type Item, type ItemRow, itemColumns, itemOf, maxItemsPerTurn } from "./items.ts";
import type { LaneClaim, LaneId } from "./lane.ts";
import type { TimerId } from "./timerChanges.ts";
import { assignTurnsSql, storeTurnsSql } from "./turns.ts";

/** Milliseconds a claim lasts unless it is extended, and between two extensions. */
export const claimMs = 10_000;
export const extendEveryMs = 3_000;

/** SQL for the end of a claim that begins now. */
export const newlyClaimedUntil = `clock_timestamp() + ${claimMs} * interval '1 ms'`;

/** A lane just claimed, with the items that it may begin with. */
export type ClaimedLane = { lane: LaneClaim; items: Item[] };

/** Ready lanes examined per free slot, so that those behind a workspace or owner at its limit are found. */
const lookedAt = 4;

/**
 * Claims ready lanes in the order of their turns and reads the items that are due by `now`. Items are read after the claim, so none that
 * raised the lane's generation before it is missed.
 */
export async function claimLanes(
  database: DatabaseRole,
  { rooms, holder, now }: { rooms: readonly Capacity[]; holder: string; now: Date },
): Promise<ClaimedLane[]> {
  return database.transaction(async (tx) => {
    const lanes = await takeReady(tx, rooms, holder);
    return lanes.length === 0 ? [] : withItems(tx, lanes, now);
  });
}

async function takeReady(tx: Sql, rooms: readonly Capacity[], holder: string): Promise<LaneClaim[]> {
  const { rows } = await tx.query<LaneClaim>(
    `with room as (
       select * from json_to_recordset($1::json) as room (process text, lanes integer, share integer, "atWork" json, owners json,
         full_workspaces text[], full_owners text[])
     ),
     mine as (
       select lane.process, lane.key from room cross join lateral (
         select process, key from (
           select next.*, row_number() over (partition by workspace order by turn) as place,
             row_number() over (partition by owner order by turn) as place_of_owner
           from (
             select process, key, workspace, split_part(key, ' ', 1) as owner, turn from work.lanes
             where process = room.process and state = 'ready' and workspace <> all(room.full_workspaces)
               and split_part(key, ' ', 1) <> all(room.full_owners)
             order by turn limit room.lanes * ${lookedAt} for no key update skip locked
           ) next
         ) ranked
         where (workspace = '' or place <= room.share - coalesce((room."atWork" ->> workspace)::integer, 0))
           and (room.owners is null
             or place_of_owner <= (room.owners ->> 'share')::integer - coalesce((room.owners -> 'atWork' ->> owner)::integer, 0))
         order by turn limit room.lanes
       ) lane
     ),
     taken as (
       update work.lanes lane set state = 'claimed', claim = gen_random_uuid(), holder = $2,
         claimed_until = ${newlyClaimedUntil}, retry_at = null
       from mine where lane.process = mine.process and lane.key = mine.key
       returning lane.process, lane.key, lane.workspace, lane.claim, lane.generation, lane.turn
     ),
     turns as (
       insert into work.turns as turns (process, workspace, turn)
       select process, '*', max(turn) from taken group by process order by process
       on conflict (process, workspace) do update set turn = greatest(turns.turn, excluded.turn)
     )
     select process, key, workspace, claim, generation from taken order by turn`,
    [JSON.stringify(rooms.map(withFull)), holder],
  );
  return rows;
}

async function withItems(tx: Sql, lanes: readonly LaneClaim[], now: Date): Promise<ClaimedLane[]> {
  const { rows } = await tx.query<ItemRow & { claim: string }>(
    `select claim, due.* from unnest($1::text[], $2::text[], $3::uuid[]) as lane (process, key, claim) cross join lateral (
       select ${itemColumns} from work.items item
       where item.process = lane.process and item.key = lane.key and due_at <= $4
       order by position, due_at, id limit ${maxItemsPerTurn}
     ) due`,
    [...columnsOf(lanes), now],
  );
  const taken = new Map<string, ClaimedLane>(lanes.map((lane) => [lane.claim, { lane, items: [] }]));
  for (const { claim, ...row } of rows) taken.get(claim)!.items.push(itemOf(row));
  return [...taken.values()];
}

/** Adds the workspaces and owners that are at their limit; their lanes are skipped. */
const withFull = (room: Capacity): object => ({
  ...room,
  full_workspaces: namesAtLimit(room).filter((workspace) => workspace !== ""),
  full_owners: room.owners ? namesAtLimit(room.owners) : [],
});

/** Extends claims; returns those that are still held. */
export async function extendClaims(sql: Sql, lanes: readonly LaneClaim[]): Promise<Set<string>> {
  const { rows } = await sql.query<{ claim: string }>(
    `with mine as (
       select process, key, claim from work.lanes join unnest($1::text[], $2::text[], $3::uuid[]) as held (process, key, claim)
         using (process, key, claim)
       where state = 'claimed' order by process, key for no key update of lanes
     )
     update work.lanes lane set claimed_until = ${newlyClaimedUntil}
     from mine where lane.process = mine.process and lane.key = mine.key returning lane.claim`,
    columnsOf(lanes),
  );
  return new Set(rows.map(({ claim }) => claim));
}

/** Expires all claims. Only for an instance that is known to be alone. */
export async function expireAllClaims(sql: Sql): Promise<void> {
  await sql.query("update work.lanes set claimed_until = '-infinity' where state = 'claimed'");
}

/** Lanes made ready by one statement, so that ten thousand due lanes block nothing else for long. */
const page = 500;

/** SQL that makes the lanes of a common table expression `woken` ready, which must have locked them, and returns their count. */
export const makeReadySql = `
  ${assignTurnsSql},
  lanes as (
    update work.lanes lane set state = 'ready', turn = turns.turn, generation = generation + 1, retry_at = null,
      obstacles = null, claim = null, holder = null
    from turns where lane.process = turns.process and lane.key = turns.key returning 1
  ),
  ${storeTurnsSql}
  select count(*) from lanes`;

/** Makes lanes ready that are due and, if `takesOver`, those whose claim has expired. True if there may be more. */
export async function makeDueLanesReady(
  sql: Sql,
  { now, takesOver }: { now: Date; takesOver: boolean },
): Promise<boolean> {
  const { rows } = await sql.query<{ count: number }>(
    `with due as (
       select process, key, workspace from (
         (select process, key, workspace, due_at from work.lanes where state = 'waiting' and due_at <= $1 order by due_at limit ${page})
         union all
         (select process, key, workspace, claimed_until from work.lanes
          where $2 and state = 'claimed' and claimed_until < clock_timestamp() order by claimed_until limit ${page})
       ) late
     ),
     woken as (
       select lane.process, lane.key, lane.workspace from work.lanes lane join due using (process, key)
       where (lane.state = 'waiting' and lane.due_at <= $1) or ($2 and lane.state = 'claimed' and lane.claimed_until < clock_timestamp())
       order by lane.process, lane.key for no key update of lane skip locked
     ),
     ${makeReadySql}`,
    [now, takesOver],
  );
  return rows[0]!.count >= page;
}

/** Makes lanes ready that waited for read models, once those have caught up. */
export async function makeWaitingLanesReady(sql: Sql, lanes: readonly LaneId[]): Promise<void> {
  await sql.query(
    `with woken as (
       select process, key, workspace from work.lanes
       where (process, key) in (select * from unnest($1::text[], $2::text[])) and state = 'waiting' and retry_at is not null
       order by process, key for no key update
     ),
     ${makeReadySql}`,
    idsOf(lanes),
  );
}

/** Makes timers due now, before their time. A claimed lane finds them at the end of its run. */
export async function makeTimersDue(sql: Sql, timers: readonly TimerId[], now: Date): Promise<void> {
  await sql.query(
    `with given as (
       select * from unnest($1::text[], $2::text[], $3::text[]) as given (process, key, timer)
     ),
     locked as (
       select process, key, workspace, state, retry_at from work.lanes where (process, key) in (select process, key from given)
       order by process, key for no key update
     ),
     due as (
       update work.items item set due_at = $4 from locked join given using (process, key)
       where item.process = given.process and item.key = given.key and item.timer = given.timer and item.due_at > $4
     ),
     woken as (select process, key, workspace from locked where state = 'waiting' and retry_at is null),
     ${makeReadySql}`,
    [...idsOf(timers), timers.map(({ name }) => name), now],
  );
}

/** Releases claimed lanes unchanged, so that other instances need not wait for their claims to expire. */
export async function releaseLanes(sql: Sql, lanes: readonly LaneClaim[]): Promise<void> {
  await sql.query(
    `with mine as (
       select process, key from work.lanes join unnest($1::text[], $2::text[], $3::uuid[]) as held (process, key, claim)
         using (process, key, claim)
       order by process, key for no key update of lanes
     )
     update work.lanes lane set state = 'ready', claim = null, holder = null, generation = generation + 1
     from mine where lane.process = mine.process and lane.key = mine.key`,
    columnsOf(lanes),
  );
}

const idsOf = (lanes: readonly LaneId[]): string[][] => [
  lanes.map(({ process }) => process),
  lanes.map(({ key }) => key),
];

const columnsOf = (lanes: readonly LaneClaim[]): string[][] => [...idsOf(lanes), lanes.map(({ claim }) => claim)];
