import type { Plan, Planner } from "./plan.ts";

/**
 * The beginning of every plan: common table expressions that look whether this instance still plans, and move the processes on, if they are where
 * they were. `whole` says in `complete` whether they did. Locks the front before rows of processes, as in processRows.ts.
 */
export const movingOn = `
     with held as (
       select set_config('synchronous_commit', 'off', true) from work.leases
       where name = $1 and epoch = $2 and holder = $3 for share
     ),
     front as (select position from work.front where position = $7 and exists (select from held) for update),
     mine as (
       select name from work.processes join unnest($4::text[], $5::bigint[]) as stood (name, planned) using (name, planned)
       where exists (select from held) and (select count(*) from front) >= 0 order by name for update of processes
     ),
     whole as (
       select exists (select from held) and (select count(*) from mine) = cardinality($4::text[])
         and ($7::bigint is null or exists (select from front)) as complete
     ),
     moved_on as (
       update work.processes process set planned = case when $7::bigint is null then $6::bigint end
       from mine, whole where whole.complete and process.name = mine.name
     ),
     front_moved_on as (
       update work.front set position = $6 from whole where whole.complete and $7::bigint is not null
     )`;

/** Its parameters, the first seven: $3 is the holder. */
export const movingOnValues = ({ from, front, position }: Plan, { lease, holder }: Planner): unknown[] => [
  ...[lease.name, lease.epoch, holder],
  ...[[...from.keys()], [...from.values()]],
  ...[position, front ?? null],
];
