import type { DatabaseRole, Sql } from "#src/platform/postgres/database.ts";
import type { Completion, FailedItem, LaneContinuation } from "./completion.ts";
import { lockHeldLanes } from "./completionLocks.ts";
import { parkItems } from "./parked.ts";
import { retryEveryMs } from "./setAside.ts";
import { changeTimers, lastTimerChanges } from "./timerChanges.ts";
import { assignTurnsSql, storeTurnsSql } from "./turns.ts";

/** `held`: claims that were still held. `ready`: true if one of the lanes is ready to be claimed again. */
export type RecordedCompletions = { held: Set<string>; ready: boolean };

/**
 * Records completions, all or nothing. Completions of lanes that another instance has claimed since change nothing. Work whose completion
 * is lost in a crash of the server is done again, including its timers. Locks streams first, then lanes in the order of their keys, so that
 * transactions cannot deadlock.
 */
export const recordCompletions = (
  database: DatabaseRole,
  completions: readonly Completion[],
  now: Date,
): Promise<RecordedCompletions> =>
  database.transaction(async (tx) => {
    const ended = await lockTags(tx, completions, now);
    const held = await lockHeldLanes(tx, completions);
    const good = completions.filter(({ lane }) => held.has(lane.claim));
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
    await changeTimers(tx, lastTimerChanges(good));
    const released = good.filter((completion): completion is ReleasedLane => completion.next !== undefined);
    await setLanesAside(tx, released, { ended, now });
    return { held, ready: await continueLanes(tx, released, now) };
  });

/**
 * Locks the rows of all streams that lanes are set aside under, before any lane, as the planner does. Returns the newest planned revision
 * of each. Also schedules the periodic retry of a page of these lanes, if none is scheduled.
 */
async function lockTags(tx: Sql, completions: readonly Completion[], now: Date): Promise<Map<string, number>> {
  const obstacles = completions.flatMap(({ next }) => (next?.how === "set aside" ? next.obstacles : []));
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
    new Date(now.getTime() + retryEveryMs),
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

async function countTries(tx: Sql, failed: readonly FailedItem[]): Promise<void> {
  if (failed.length === 0) return;
  await tx.query(
    `update work.items item
     set tries = failed.tries, failures = failed.failures, timeouts = coalesce(failed.timeouts, item.timeouts)
     from json_to_recordset($1::json) as failed (id bigint, tries integer, failures integer, timeouts integer)
     where item.id = failed.id`,
    [JSON.stringify(failed)],
  );
}

type ReleasedLane = Completion & { next: LaneContinuation };

/**
 * Sets lanes aside. A lane whose obstacle has ended since it was seen, or that was woken since the claim, is left to `goOn`, which makes it
 * ready at once. Time alone retries only a page of the lanes set aside under a stream (setAside.ts); a timer wakes its own lane.
 */
async function setLanesAside(
  tx: Sql,
  released: readonly ReleasedLane[],
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

/**
 * Ends the remaining claims: a lane with nothing to do is deleted, a lane with due items becomes ready, any other waits for its next item
 * or its retry. True if a lane became ready.
 */
async function continueLanes(tx: Sql, released: readonly ReleasedLane[], now: Date): Promise<boolean> {
  if (released.length === 0) return false;
  const ended = JSON.stringify(
    released.map(({ lane, next }) => ({ ...lane, retryAt: next.how === "retry" ? next.at : null })),
  );
  const { rows } = await tx.query<{ ready: boolean }>(
    `with ended as (
       select lane.process, lane.key, lane.workspace, given."retryAt" as retry_at, (
         select min(due_at) from work.items item where item.process = lane.process and item.key = lane.key
       ) as due_at
       from json_to_recordset($1::json) as given (process text, key text, claim uuid, "retryAt" timestamptz)
       join work.lanes lane using (process, key, claim)
     ),
     gone as (
       delete from work.lanes lane using ended
       where lane.process = ended.process and lane.key = ended.key and ended.due_at is null
     ),
     waiting as (
       update work.lanes lane set state = 'waiting', claim = null, holder = null, claimed_until = null,
         retry_at = ended.retry_at, due_at = greatest(ended.due_at, ended.retry_at)
       from ended where lane.process = ended.process and lane.key = ended.key
         and (ended.due_at > $2 or ended.retry_at is not null)
     ),
     woken as (select process, key, workspace from ended where due_at <= $2 and retry_at is null),
     ${assignTurnsSql},
     lanes as (
       update work.lanes lane set state = 'ready', turn = turns.turn, claim = null, holder = null, claimed_until = null
       from turns where lane.process = turns.process and lane.key = turns.key returning 1
     ),
     ${storeTurnsSql}
     select exists (select from lanes) as ready`,
    [ended, now],
  );
  return rows[0]!.ready;
}
