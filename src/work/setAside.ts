import type { Role, Sql } from "#src/postgres/database.ts";
import { bringingBack } from "./lanes.ts";
import { beginsWork } from "./transactions.ts";

/**
 * Of all lanes that are set aside under a stream one is tried after this long, in milliseconds: an end that no event told of is found out,
 * and ten thousand that wait cost no more than one.
 */
export const tryEveryMs = 600_000;
/** Streams worked on at a time, and lanes woken by one statement. */
const streamsAtOnce = 50;
const page = 500;

type Ended = { stream: string; wake_before: number };

/** Wakes up to a page of lanes under each stream whose obstacle may have ended. Locks these lanes alone. True if there may be more. */
export async function wakeEnded(sql: Sql): Promise<boolean> {
  const { rows: streams } = await sql.query<Ended>(
    `select stream, wake_before from work.tags where wake_before is not null order by wake_before limit ${streamsAtOnce}`,
  );
  let isMore = false;
  for (const ended of streams) {
    if ((await wakePage(sql, ended)) === page) isMore = true;
    else if (await finish(sql, ended)) isMore ||= streams.length === streamsAtOnce;
  }
  return isMore;
}

async function wakePage(sql: Sql, { stream, wake_before }: Ended): Promise<number> {
  const { rows } = await sql.query<{ count: number }>(
    `with ended as (
       select process, key from work.set_aside where stream = $1 and place < $2 order by place limit ${page}
     ),
     woken as (
       select process, key, workspace from work.lanes
       where (process, key) in (select process, key from ended) and obstacles is not null
       order by process, key for no key update skip locked
     ),
     ${bringingBack()}
     select count(*) from brought`,
    [stream, wake_before],
  );
  return rows[0]!.count;
}

/** Notes that all lanes are woken. False while one is left, which another has locked, or if the stream's obstacle has ended once more. */
async function finish(sql: Sql, { stream, wake_before }: Ended): Promise<boolean> {
  const { rowCount } = await sql.query(
    `update work.tags set wake_before = null where stream = $1 and wake_before = $2
       and not exists (select from work.set_aside where stream = $1 and place < $2)`,
    [stream, wake_before],
  );
  return rowCount === 1;
}

/** Tries the lane that has waited longest under each stream whose time has come. True if there may be more. */
export async function trySetAside(database: Role, now: Date): Promise<boolean> {
  return database.transaction(async (tx) => {
    await tx.query(beginsWork);
    const { rows } = await tx.query<{ stream: string }>(
      `select stream from work.tags where try_at <= $1 order by try_at limit ${streamsAtOnce} for update skip locked`,
      [now],
    );
    const streams = rows.map(({ stream }) => stream);
    if (streams.length === 0) return false;
    await tx.query(
      `with longest as (
         select aside.process, aside.key from unnest($1::text[]) as due (stream) cross join lateral (
           select process, key from work.set_aside where set_aside.stream = due.stream order by place limit 1
         ) aside
       ),
       woken as (
         select process, key, workspace from work.lanes
         where (process, key) in (select process, key from longest) and obstacles is not null
         order by process, key for no key update skip locked
       ),
       ${bringingBack("lane.obstacles")}
       select from brought`,
      [streams],
    );
    await tx.query(
      `update work.tags tag set try_at = case
         when exists (select from work.set_aside where set_aside.stream = tag.stream) then $2::timestamptz end
       where stream = any($1)`,
      [streams, new Date(now.getTime() + tryEveryMs)],
    );
    return streams.length === streamsAtOnce;
  });
}

/** A lane that was tried was not set aside again: all that are set aside under the same streams are woken. */
export async function gotThrough(sql: Sql, streams: readonly string[]): Promise<void> {
  await sql.query(
    `with passed as (select stream from work.tags where stream = any($1) order by stream for update)
     update work.tags tag set wake_before = nextval('work.places') from passed where tag.stream = passed.stream`,
    [streams],
  );
}
