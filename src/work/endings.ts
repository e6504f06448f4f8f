import type { Role, Sql } from "#src/postgres/database.ts";
import type { Obstacle } from "#src/processes/process.ts";
import { lockHeld } from "./endingLocks.ts";
import type { Claimed, Taken } from "./lanes.ts";
import { lettingGo } from "./lettingGo.ts";
import { type GivenUp, parkItems } from "./parked.ts";
import { plainOf, recordPlain } from "./plainEndings.ts";
import { tryEveryMs } from "./setAside.ts";
import { changeTimers, lastWords, type TimerChange } from "./timerChanges.ts";
import { beginsWork } from "./transactions.ts";

/** How a lane goes on: at once if there is more to do, after a pause, or when an obstacle has ended. */
export type Next = { how: "go on" } | { how: "retry"; at: Date } | { how: "set aside"; obstacles: readonly Obstacle[] };

/** How often an item was tried, failed for reasons of its own, and did not end in its time. */
export type Failed = { id: number; tries: number; failures: number; timeouts?: number };

/** What has come of a claimed lane: items done, failed or given up, timers changed, and at the end of its turn how it goes on. */
export type Ending = {
  lane: Claimed;
  done?: number;
  failed?: Failed;
  givenUp?: GivenUp;
  timers?: readonly TimerChange[];
  next?: Next;
};

/**
 * `held`: claims that were still held. `readyAgain`: whether one of the lanes may be ready, to be claimed once more. `taken`: claimed once more at
 * once. `failed`: what is left to be recorded, where that was not all, and why.
 */
export type Stored = {
  held: Set<string>;
  readyAgain: boolean;
  taken: Taken[];
  failed?: { left: ReadonlySet<Ending>; error: unknown };
};

/**
 * Records endings. Those of lanes that somebody else has claimed since change nothing. What a crash of the server takes back is done again, its
 * timers with it, so nobody waits for the disk. `holder`: who may go on at once with lanes that have more to do.
 */
export async function recordEndings(
  database: Role,
  endings: readonly Ending[],
  { now, holder }: { now: Date; holder?: string | undefined },
): Promise<Stored> {
  const plain = plainOf(endings);
  const none: Stored = { held: new Set(), readyAgain: false, taken: [] };
  const { held, ...more } = plain.length > 0 ? await recordPlain(database, plain, { now, holder }) : none;
  const left = endings.filter(({ lane }) => !held.has(lane.claim));
  if (left.length === 0) return { held, ...more };
  try {
    const inTransaction = await database.transaction((tx) => recordInSteps(tx, left, now));
    return { held: new Set([...held, ...inTransaction]), taken: more.taken, readyAgain: true };
  } catch (error) {
    // What is recorded cannot be recorded again: its answer would be lost, and with it the lanes that were claimed once more.
    if (held.size === 0) throw error;
    return { held, ...more, failed: { left: new Set(left), error } };
  }
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
  await changeTimers(tx, lastWords(good));
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
     ${lettingGo("null")}
     select 1`,
    [ended, now],
  );
}
