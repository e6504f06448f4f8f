import type { Sql } from "#src/platform/postgres/database.ts";
import type { Timer } from "#src/processes/process.ts";
import { cutText } from "#streams/cutText.ts";
import type { Recorded } from "#streams/event.ts";
import { wakeLanesSql } from "./immediateTimers.ts";

/** An event or a timer that a process gave up on. */
export type Parked = {
  id: number;
  process: string;
  key: string;
  position: number | null;
  timer: string | null;
  item: Recorded | Timer;
  error: string;
  tries: number;
  parked_at: Date;
  retry_requested_at: Date | null;
};

export const isEvent = (item: Recorded | Timer): item is Recorded => "stream" in item;

/** An item given up on, with its content and error. `parked`: its id in `work.parked` if it had been parked before. */
export type FailedForGood = {
  id: number;
  key: string;
  item: Recorded | Timer;
  error: string;
  tries: number;
  parked: number | null;
};

/** Moves failed items to `work.parked`, with their errors. A parked timer of the same name is replaced, a parked event is kept. */
export async function parkItems(
  tx: Sql,
  givenUp: readonly (FailedForGood & { process: string })[],
  at: Date,
): Promise<void> {
  for (const { id, process, key, item, error, tries, parked } of givenUp) {
    if (parked === null) {
      const position = isEvent(item) ? item.position : null;
      const timer = isEvent(item) ? null : item.name;
      await tx.query(
        `insert into work.parked (process, key, position, timer, item, error, tries, parked_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict ${isEvent(item) ? "do nothing" : timerAgain}`,
        [process, key, position, timer, JSON.stringify(item), storable(error), tries, at],
      );
    } else {
      await tx.query(
        "update work.parked set error = $2, tries = tries + $3, parked_at = $4, retry_requested_at = null where id = $1",
        [parked, storable(error), tries, at],
      );
    }
    await tx.query("delete from work.items where id = $1", [id]);
  }
}

const timerAgain = `(process, key, timer) where timer is not null do update
  set item = excluded.item, error = excluded.error, tries = excluded.tries, parked_at = excluded.parked_at,
    retry_requested_at = null`;

/** Requests a retry of one parked item, or of all (of one process). Returns how many. */
export async function requestRetry(sql: Sql, which: { id?: number; process?: string }, at: Date): Promise<number> {
  const { rowCount } = await sql.query(
    `update work.parked set retry_requested_at = $1
     where ($2::bigint is null or id = $2) and ($3::text is null or process = $3)`,
    [at, which.id ?? null, which.process ?? null],
  );
  return rowCount ?? 0;
}

/** Puts parked items with a requested retry back into their lanes. True if there may be more. */
export async function unparkItems(sql: Sql): Promise<boolean> {
  const { rows } = await sql.query<{ count: number }>(
    `with wanted as (
       select * from work.parked where retry_requested_at is not null
         and not exists (select from work.items item where item.parked = work.parked.id)
       order by id limit 100 for update skip locked
     ),
     added as (
       insert into work.items (process, key, position, stream, revision, timer, payload, due_at, parked)
       select process, key, position, item ->> 'stream', (item ->> 'revision')::bigint, timer, item -> 'payload', coalesce((item ->> 'dueAt')::timestamptz, '-infinity'), id
       from wanted on conflict do nothing
     ),
     woken as (
       select process, key, max(coalesce(item #>> '{metadata,workspaceId}', item #>> '{payload,workspaceId}', '')) as workspace
       from wanted group by process, key
     ),
     ${wakeLanesSql}
     select count(*) from wanted`,
  );
  return rows[0]!.count >= 100;
}

const storable = (error: string): string => cutText(error.replaceAll("\u0000", "\ufffd"), 4000);
