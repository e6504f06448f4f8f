import type { Sql } from "#src/postgres/database.ts";
import type { Timer } from "#src/processes/process.ts";
import type { Recorded } from "#streams/event.ts";
import { type Holding, heldLease } from "./timers.ts";

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

type Failure = { key: string; item: Recorded | Timer; error: string; tries: number; at: Date };

/** Keeps what failed, with its error. A timer parked before under the same name is replaced, an event parked before stays. */
export async function park({ sql, process, lease, holder }: Holding, failure: Failure): Promise<void> {
  const { key, item, error, tries, at } = failure;
  const position = isEvent(item) ? item.position : null;
  const timer = isEvent(item) ? null : item.name;
  await sql.query(
    `with held as (${heldLease})
     insert into work.parked (process, key, position, timer, item, error, tries, parked_at)
     select $4, $5, $6::bigint, $7::text, $8::json, $9, $10::int, $11::timestamptz from held
     on conflict ${isEvent(item) ? "do nothing" : timerAgain}`,
    [lease.name, lease.epoch, holder, process, key, position, timer, JSON.stringify(item), storable(error), tries, at],
  );
}

const timerAgain = `(process, key, timer) where timer is not null do update
  set item = excluded.item, error = excluded.error, tries = excluded.tries, parked_at = excluded.parked_at,
    retry_requested_at = null`;

/** Those of these processes that somebody wants tried again, oldest first. */
export async function retriesRequested(
  sql: Sql,
  processes: readonly string[],
  except: readonly number[],
): Promise<Parked[]> {
  const { rows } = await sql.query<Parked>(
    `select * from work.parked
     where process = any($1) and retry_requested_at is not null and id <> all($2::bigint[]) order by id limit 100`,
    [processes, except],
  );
  return rows;
}

/** Asks for another try of one parked item, or of all (of one process); the holder of the process's lease makes it. Returns how many. */
export async function requestRetry(sql: Sql, which: { id?: number; process?: string }, at: Date): Promise<number> {
  const { rowCount } = await sql.query(
    `update work.parked set retry_requested_at = $1
     where ($2::bigint is null or id = $2) and ($3::text is null or process = $3)`,
    [at, which.id ?? null, which.process ?? null],
  );
  return rowCount ?? 0;
}

export async function removeParked(sql: Sql, id: number): Promise<void> {
  await sql.query("delete from work.parked where id = $1", [id]);
}

export async function parkAgain(
  sql: Sql,
  id: number,
  { error, tries, at }: Omit<Failure, "key" | "item">,
): Promise<void> {
  await sql.query(
    "update work.parked set error = $2, tries = tries + $3, parked_at = $4, retry_requested_at = null where id = $1",
    [id, storable(error), tries, at],
  );
}

const storable = (error: string): string => error.replaceAll("\u0000", "\ufffd").slice(0, 4000);
