import type { Sql } from "#src/postgres/database.ts";
import type { ProcessContext, Timer } from "#src/processes/process.ts";
import type { Lease } from "./leases.ts";

/** A timer as it stood when it was found due. `revision` is new with every setting. */
export type DueTimer = Timer & { process: string; revision: string };

/** A worker whose lease another instance has taken may change nothing any more. */
export class LeaseLost extends Error {
  override readonly name = "LeaseLost";
}

/** Locks the lease against being taken over for as long as the statement runs; no row where it is not held any more. */
export const heldLease = "select 1 from work.leases where name = $1 and epoch = $2 and holder = $3 for share";

export type Holding = { sql: Sql; process: string; lease: Pick<Lease, "name" | "epoch">; holder: string };

/** A process's timers are rows, so that they survive any restart; only the holder of its lease sets and cancels them. */
export function createTimers(
  { sql, process, lease, holder }: Holding,
  onSet: (dueAt: Date) => void,
): ProcessContext["timers"] {
  return {
    async set({ key, name, dueAt, payload = {} }) {
      const { rowCount } = await sql.query(
        `with held as (${heldLease})
         insert into work.timers (process, key, name, due_at, payload)
         select $4, $5, $6, $7::timestamptz, $8::json from held
         on conflict (process, key, name) do update
           set due_at = excluded.due_at, payload = excluded.payload, revision = excluded.revision`,
        [lease.name, lease.epoch, holder, process, key, name, dueAt, JSON.stringify(payload)],
      );
      if (rowCount === 0) throw new LeaseLost(`${process} is run by another instance now`);
      onSet(dueAt);
    },
    async cancel(key, name) {
      await sql.query(
        `with held as (${heldLease})
         delete from work.timers using held where process = $4 and key = $5 and name = $6`,
        [lease.name, lease.epoch, holder, process, key, name],
      );
    },
  };
}

/** Timers of these processes that are due, without those of the given revisions, the longest due first. */
export async function dueTimers(
  sql: Sql,
  processes: readonly string[],
  { now, except }: { now: Date; except: readonly string[] },
): Promise<DueTimer[]> {
  const { rows } = await sql.query<DueTimer>(
    `select process, key, name, due_at as "dueAt", payload, revision from work.timers
     where process = any($1) and due_at <= $2 and revision <> all($3::uuid[]) order by due_at limit 500`,
    [processes, now, except],
  );
  return rows;
}

/** False where it was cancelled or set again since it was found due. */
export async function isStillDue(sql: Sql, timer: DueTimer): Promise<boolean> {
  const { rowCount } = await sql.query(`select 1 from work.timers where ${thisTimer}`, identity(timer));
  return rowCount === 1;
}

/** Removes a timer that was handled, unless it was set again meanwhile. */
export async function removeTimer(sql: Sql, timer: DueTimer): Promise<void> {
  await sql.query(`delete from work.timers where ${thisTimer}`, identity(timer));
}

const thisTimer = "process = $1 and key = $2 and name = $3 and revision = $4";
const identity = ({ process, key, name, revision }: DueTimer): unknown[] => [process, key, name, revision];
