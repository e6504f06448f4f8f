import type { Role, Sql } from "#src/postgres/database.ts";
import type { Obstacle, Timer } from "#src/processes/process.ts";
import { lockHeld, workspaceOfTimer } from "./endingLocks.ts";
import type { Claimed, LaneId } from "./lanes.ts";
import { type GivenUp, parkItems } from "./parked.ts";
import { tryEveryMs } from "./setAside.ts";
import { beginsWork } from "./transactions.ts";
import { givingTurns } from "./turns.ts";

/** What a handler has done with timers. */
export type TimerChange = { set: Timer } | { cancel: LaneId["key"]; name: string };

/** How a lane goes on: at once if there is more to do, after a pause, or when an obstacle has ended. */
export type Next = { how: "go on" } | { how: "retry"; at: Date } | { how: "set aside"; obstacles: readonly Obstacle[] };

/** How often an item was tried, failed for reasons of its own, and did not end in its time. */
type Failed = { id: number; tries: number; failures: number; timeouts?: number };

/** What has come of a claimed lane: items done, failed or given up, timers changed, and at the end of its turn how it goes on. */
export type Ending = {
  lane: Claimed;
  done?: number;
  failed?: Failed;
  givenUp?: GivenUp;
  timers?: readonly TimerChange[];
  next?: Next;
};

/** `held`: claims that were still held. `readyAgain`: whether one of the lanes may be ready, to be claimed once more. */
export type Stored = { held: Set<string>; readyAgain: boolean };

/**
 * Records endings. Those of lanes that somebody else has claimed since change nothing. What a crash of the server takes back is done again, its
 * timers with it, so nobody waits for the disk.
 */
export async function recordEndings(database: Role, endings: readonly Ending[], now: Date): Promise<Stored> {
  const inSteps = new Set(endings.filter((ending) => !isPlain(ending)).map(({ lane }) => lane.claim));
  const plain = endings.filter(({ lane }) => !inSteps.has(lane.claim));
  const none: Stored = { held: new Set(), readyAgain: false };
  const { held, readyAgain } = plain.length > 0 ? await recordPlain(database, plain, now) : none;
  const left = endings.filter(({ lane }) => !held.has(lane.claim));
  if (left.length === 0) return { held, readyAgain };
  const inTransaction = await database.transaction((tx) => recordInSteps(tx, left, now));
  return { held: new Set([...held, ...inTransaction]), readyAgain: true };
}

const isPlain = ({ lane, failed, givenUp, timers = [], next }: Ending): boolean =>
  !failed &&
  !givenUp &&
  timers.every((change) => "cancel" in change && change.cancel === lane.key) &&
  (next === undefined || next.how === "go on");

/**
 * How claims end: a lane with nothing to do is gone, one with items that are due is ready, any other waits, for its next item or to be tried
 * again. Over a common table expression `ended (process, key, workspace, due_at, retry_at)` of locked lanes; $2 is now.
 */
const lettingGo = `
  gone as (
    delete from work.lanes lane using ended
    where lane.process = ended.process and lane.key = ended.key and ended.due_at is null
  ),
  waiting as (
    update work.lanes lane set state = 'waiting', claim = null, holder = null, claimed_until = null,
      retry_at = ended.retry_at, due_at = greatest(ended.due_at, ended.retry_at)
    from ended where lane.process = ended.process and lane.key = ended.key
      and (ended.due_at > $2 or (ended.due_at is not null and ended.retry_at is not null))
  ),
  woken as (
    select process, key, workspace from ended where due_at <= $2 and retry_at is null
  ),
  ${givingTurns},
  ready as (
    update work.lanes lane set state = 'ready', turn = turns.turn, claim = null, holder = null, claimed_until = null
    from turns where lane.process = turns.process and lane.key = turns.key
  )`;

/**
 * Almost all there are: items that are done, timers of the lane's own that are cancelled, and lanes that go on. One statement. A lane that was woken since its claim is left to the steps
 * below, which look at it again under its lock. Answers what it has recorded.
 */
async function recordPlain(sql: Sql, endings: readonly Ending[], now: Date): Promise<Stored> {
  const byClaim = new Map<string, { lane: Claimed; done: number[]; cancelled: string[]; release: boolean }>();
  for (const { lane, done, timers = [], next } of endings) {
    const known = byClaim.get(lane.claim) ?? { lane, done: [], cancelled: [], release: false };
    if (done !== undefined) known.done.push(done);
    known.cancelled.push(...timers.flatMap((change) => ("cancel" in change ? change.name : [])));
    known.release ||= next !== undefined;
    byClaim.set(lane.claim, known);
  }
  const given = [...byClaim.values()].map(({ lane, ...said }) => ({ ...lane, ...said }));
  const { rows } = await sql.query<{ claim: string; ready: boolean }>(
    `with said as (
       select * from json_to_recordset($1::json)
         as said (process text, key text, claim uuid, generation bigint, done bigint[], cancelled text[], release boolean)
     ),
     mine as (
       select lane.process, lane.key, lane.workspace, lane.claim, said.done, said.cancelled, said.release,
         set_config('synchronous_commit', 'off', true)
       from work.lanes lane join said on lane.process = said.process and lane.key = said.key and lane.claim = said.claim
       where lane.state = 'claimed' and (not said.release or lane.generation = said.generation)
       order by lane.process, lane.key for no key update of lane
     ),
     done as (delete from work.items item using mine where item.id = any(mine.done) returning item.parked),
     unparked as (delete from work.parked using done where id = done.parked),
     cancelled as (
       delete from work.items item using mine
       where item.process = mine.process and item.key = mine.key and item.timer = any(mine.cancelled) and item.parked is null
     ),
     ended as (
       select process, key, workspace, (
         select min(due_at) from work.items item
         where item.process = mine.process and item.key = mine.key and item.id <> all(mine.done)
           and (item.timer is null or item.parked is not null or item.timer <> all(mine.cancelled))
       ) as due_at, null::timestamptz as retry_at
       from mine where release
     ),
     ${lettingGo}
     select claim, exists (select from woken) as ready from mine`,
    [JSON.stringify(given), now],
  );
  return { held: new Set(rows.map(({ claim }) => claim)), readyAgain: rows.some(({ ready }) => ready) };
}

/** All or nothing, in a transaction. Streams are locked first, then lanes in the order of their keys, so that nobody waits for one another. */
async function recordInSteps(tx: Sql, endings: readonly Ending[], now: Date): Promise<Set<string>> {
  await tx.query(beginsWork);
  const ended = await lockTags(tx, endings, now);
  const held = await lockHeld(tx, endings);
  const good = endings.filter(({ lane }) => held.has(lane.claim));
  await removeDone(
    tx,
    good.flatMap(({ done }) => done ?? []),
  );
  await countTries(
    tx,
    good.flatMap(({ failed }) => failed ?? []),
  );
  await parkItems(
    tx,
    good.flatMap(({ lane, givenUp }) => (givenUp ? { ...givenUp, process: lane.process } : [])),
    now,
  );
  for (const { lane, timers = [] } of good) {
    for (const change of timers) {
      if ("set" in change) await setTimer(tx, lane, change.set);
      else await cancelTimer(tx, lane, change);
    }
  }
  const released = good.filter((ending): ending is Ending & { next: Next } => ending.next !== undefined);
  await setAside(tx, released, { ended, now });
  await goOn(tx, released, now);
  return held;
}

/**
 * Locks the rows of all streams that lanes are set aside under, before any lane, as the planner does. Answers the newest revisions that were
 * planned. From now on one of the lanes is tried now and then.
 */
async function lockTags(tx: Sql, endings: readonly Ending[], now: Date): Promise<Map<string, number>> {
  const obstacles = endings.flatMap(({ next }) => (next?.how === "set aside" ? next.obstacles : []));
  if (obstacles.length === 0) return new Map();
  const streams = [...new Set(obstacles.map(({ stream }) => stream))].sort();
  await tx.query(
    "insert into work.tags (stream, revision) select stream, -1 from unnest($1::text[]) as stream on conflict do nothing",
    [streams],
  );
  const { rows } = await tx.query<{ stream: string; revision: number }>(
    "select stream, revision from work.tags where stream = any($1) order by stream for update",
    [streams],
  );
  await tx.query("update work.tags set try_at = $2 where stream = any($1) and try_at is null", [
    streams,
    new Date(now.getTime() + tryEveryMs),
  ]);
  return new Map(rows.map(({ stream, revision }) => [stream, revision]));
}

async function removeDone(tx: Sql, done: readonly number[]): Promise<void> {
  if (done.length === 0) return;
  await tx.query(
    `with done as (delete from work.items where id = any($1) returning parked)
     delete from work.parked using done where id = done.parked`,
    [done],
  );
}

async function countTries(tx: Sql, failed: readonly Failed[]): Promise<void> {
  if (failed.length === 0) return;
  await tx.query(
    `update work.items item
     set tries = failed.tries, failures = failed.failures, timeouts = coalesce(failed.timeouts, item.timeouts)
     from json_to_recordset($1::json) as failed (id bigint, tries integer, failures integer, timeouts integer)
     where item.id = failed.id`,
    [JSON.stringify(failed)],
  );
}

/**
 * A timer set again is another item: what is said about the one before does not touch it. Of its own lane nobody needs to be told: it is
 * looked at when the claim ends. Told all the same, one that sets itself aside would be ready again at once, for ever.
 */
async function setTimer(tx: Sql, { process, workspace, claim }: Claimed, timer: Timer): Promise<void> {
  const { key, name, dueAt, payload } = timer;
  await tx.query(
    `insert into work.items as item (process, key, timer, due_at, payload) values ($1, $2, $3, $4, $5)
     on conflict (process, key, timer) where timer is not null and parked is null do update
       set id = default, due_at = excluded.due_at, payload = excluded.payload, tries = 0, failures = 0, timeouts = 0`,
    [process, key, name, dueAt, JSON.stringify(payload)],
  );
  await tx.query(
    `insert into work.lanes as lane (process, key, workspace, state, due_at) values ($1, $2, $3, 'waiting', $4)
     on conflict (process, key) do update set generation = lane.generation + (lane.claim is distinct from $5)::integer,
       due_at = case when lane.state = 'waiting' and lane.retry_at is null then least(lane.due_at, excluded.due_at) else lane.due_at end`,
    [process, key, workspaceOfTimer(timer) ?? workspace, dueAt, claim],
  );
}

async function cancelTimer(
  tx: Sql,
  { process }: Claimed,
  { cancel, name }: Extract<TimerChange, { cancel: string }>,
): Promise<void> {
  await tx.query("delete from work.items where process = $1 and key = $2 and timer = $3 and parked is null", [
    process,
    cancel,
    name,
  ]);
}

type Released = Ending & { next: Next };

/**
 * An obstacle that has ended since it was seen, or a wake-up since the claim, makes the lane ready at once: `goOn` sees to that. Time alone
 * wakes one of all that are set aside under a stream (setAside.ts); a timer wakes its own lane.
 */
async function setAside(
  tx: Sql,
  released: readonly Released[],
  { ended, now }: { ended: ReadonlyMap<string, number>; now: Date },
): Promise<void> {
  const aside = released.flatMap(({ lane, next }) =>
    next.how === "set aside" ? { lane, obstacles: next.obstacles } : [],
  );
  if (aside.length === 0) return;
  const standing = aside.filter(({ obstacles }) =>
    obstacles.every(({ stream, revision }) => (ended.get(stream) ?? -1) <= revision),
  );
  await tx.query(
    `update work.lanes lane set state = 'waiting', claim = null, holder = null, claimed_until = null,
       obstacles = array(select json_array_elements_text(aside.obstacles)), due_at = coalesce((
         select min(due_at) from work.items item
         where item.process = lane.process and item.key = lane.key and item.due_at > $2
       ), 'infinity')
     from json_to_recordset($1::json) as aside (process text, key text, claim uuid, generation bigint, obstacles json)
     where lane.process = aside.process and lane.key = aside.key and lane.claim = aside.claim and lane.generation = aside.generation`,
    [
      JSON.stringify(
        standing.map(({ lane, obstacles }) => ({ ...lane, obstacles: obstacles.map(({ stream }) => stream) })),
      ),
      now,
    ],
  );
}

/** Ends the claims that are left. */
async function goOn(tx: Sql, released: readonly Released[], now: Date): Promise<void> {
  if (released.length === 0) return;
  const ended = JSON.stringify(
    released.map(({ lane, next }) => ({ ...lane, retryAt: next.how === "retry" ? next.at : null })),
  );
  await tx.query(
    `with ended as (
       select lane.process, lane.key, lane.workspace, given."retryAt" as retry_at, (
         select min(due_at) from work.items item where item.process = lane.process and item.key = lane.key
       ) as due_at
       from json_to_recordset($1::json) as given (process text, key text, claim uuid, "retryAt" timestamptz)
       join work.lanes lane using (process, key, claim)
     ),
     ${lettingGo}
     select 1`,
    [ended, now],
  );
}
