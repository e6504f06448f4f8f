import type { Role, Sql } from "#src/platform/postgres/database.ts";
import type { Process } from "#src/processes/process.ts";

type Named = readonly { name: string }[];

/**
 * Position up to which the log is planned for each of these processes. A new one begins where it says: at the log's beginning, or with what
 * happens from now on (`head`).
 */
export async function planned(sql: Sql, processes: readonly Process[], head: number): Promise<Map<string, number>> {
  const beginnings = processes.map(({ begins }) => (begins === "now" ? head : 0));
  await sql.query(
    `insert into work.processes (name, planned)
     select * from unnest($1::text[], $2::bigint[]) as wanted (name, beginning) order by name
     on conflict do nothing`,
    [processes.map(({ name }) => name), beginnings],
  );
  return storedPlanned(sql, processes);
}

/** The same of processes that were begun. */
export async function storedPlanned(sql: Sql, processes: Named): Promise<Map<string, number>> {
  const { rows } = await sql.query<{ name: string; planned: number }>(
    "select name, planned from work.planned where name = any($1)",
    [processes.map(({ name }) => name)],
  );
  return new Map(rows.map(({ name, planned }) => [name, planned]));
}

/**
 * Puts those of these processes that are furthest in step: from here on they move with the front alone. Every other one, of another
 * version of the service too, moves alone, so that no front goes over what it has not got. Answers the front. No position changes.
 */
export async function putInStep(database: Role, processes: Named): Promise<number> {
  return database.transaction(async (tx) => {
    await tx.query("select from work.front for update");
    await tx.query("select from work.processes order by name for update");
    const { rows } = await tx.query<{ position: number }>(
      `with furthest as (select coalesce(max(planned), 0) as position from work.planned where name = any($1)),
       stood as (
         update work.processes process
         set planned = case when stood.name = any($1) and stood.planned = furthest.position then null else stood.planned end
         from work.planned stood, furthest where process.name = stood.name
       )
       update work.front set position = furthest.position from furthest returning front.position`,
      [processes.map(({ name }) => name)],
    );
    return rows[0]!.position;
  });
}

/** Gives every process a position of its own. */
export async function putAlone(sql: Sql): Promise<void> {
  await sql.query("update work.processes set planned = front.position from work.front where planned is null");
}
