import type { Sql } from "#src/platform/postgres/database.ts";

/** Kinds of work found: lanes to claim, lanes to make ready, parked items to retry, and lanes set aside to wake or to retry. */
export type WorkFound = { ready: boolean; due: boolean; parked: boolean; ended: boolean; tried: boolean };

/** Checks what there is to do, for these processes or because it is due, without locking or changing anything. */
export async function findWork(
  sql: Sql,
  { names, now, takesOver }: { names: readonly string[]; now: Date; takesOver: boolean },
): Promise<WorkFound> {
  const { rows } = await sql.query<WorkFound>(
    `select exists (select from work.lanes where process = any($1) and state = 'ready') as ready,
       exists (select from work.lanes where state = 'waiting' and due_at <= $2)
         or ($3 and exists (select from work.lanes where state = 'claimed' and claimed_until < clock_timestamp())) as due,
       exists (
         select from work.parked where retry_requested_at is not null
           and not exists (select from work.items item where item.parked = work.parked.id)
       ) as parked,
       exists (select from work.tags where wake_before is not null) as ended,
       exists (select from work.tags where try_at <= $2) as tried`,
    [names, now, takesOver],
  );
  return rows[0] ?? { ready: false, due: false, parked: false, ended: false, tried: false };
}
