import type { Sql } from "#src/platform/postgres/database.ts";
import { makeReadySql } from "./lanes.ts";

/**
 * Milliseconds after which a page of the lanes set aside under a stream is retried. This catches an obstacle that ended without an event;
 * ten thousand waiting lanes cost no more than 500.
 */
export const retryEveryMs = 600_000;
/** Streams handled at a time, and lanes woken by one statement. */
const streamsAtOnce = 50;
const page = 500;

type EndedStream = { stream: string; wake_before: number };

/** Wakes up to a page of lanes under each stream whose obstacle may have ended. Locks only these lanes. True if there may be more. */
export async function wakeLanesOfEndedObstacles(sql: Sql): Promise<boolean> {
  const { rows: streams } = await sql.query<EndedStream>(
    `select stream, wake_before from work.tags where wake_before is not null order by wake_before limit ${streamsAtOnce}`,
  );
  let isMore = false;
  for (const ended of streams) {
    if ((await wakePage(sql, ended)) === page) isMore = true;
    else if (await finish(sql, ended)) isMore ||= streams.length === streamsAtOnce;
  }
  return isMore;
}

async function wakePage(sql: Sql, { stream, wake_before }: EndedStream): Promise<number> {
  const { rows } = await sql.query<{ count: number }>(
    `with ended as (
       select process, key from work.set_aside where stream = $1 and place < $2 order by place limit ${page}
     ),
     woken as (
       select process, key, workspace from work.lanes
       where (process, key) in (select process, key from ended) and obstacles is not null
       order by process, key for no key update skip locked
     ),
     ${makeReadySql}`,
    [stream, wake_before],
  );
  return rows[0]!.count;
}

/**
 * Records that all lanes of a stream are woken. False while one remains that another transaction has locked, or if the stream's obstacle
 * has ended once more.
 */
async function finish(sql: Sql, { stream, wake_before }: EndedStream): Promise<boolean> {
  const { rowCount } = await sql.query(
    `update work.tags set wake_before = null where stream = $1 and wake_before = $2
       and not exists (select from work.set_aside where stream = $1 and place < $2)`,
    [stream, wake_before],
  );
  return rowCount === 1;
}

/** Marks the page of lanes that has waited longest under each stream whose retry is due. Lanes set aside again queue behind the others. */
export async function markForRetry(sql: Sql, now: Date): Promise<void> {
  await sql.query(
    `with due as (select stream from work.tags where try_at <= $1 order by stream limit ${streamsAtOnce} for update skip locked),
     longest as (
       select stream, (
         select max(place) + 1 from (select place from work.set_aside where set_aside.stream = due.stream order by place limit ${page}) first
       ) as before
       from due
     )
     update work.tags tag set wake_before = greatest(wake_before, before), try_at = case when before is not null then $2::timestamptz end
     from longest where tag.stream = longest.stream`,
    [now, new Date(now.getTime() + retryEveryMs)],
  );
}
