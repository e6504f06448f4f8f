import type { DatabaseRole, Sql } from "#src/platform/postgres/database.ts";
import type { Process } from "#src/processes/process.ts";

type NamedProcesses = readonly { name: string }[];

/**
 * Returns the position up to which the log is planned for each of these processes. Stores new ones first, at the log's beginning or at its
 * end (`head`), as the process says.
 */
export async function loadPositions(
  sql: Sql,
  processes: readonly Process[],
  head: number,
): Promise<Map<string, number>> {
  const beginnings = processes.map(({ begins }) => (begins === "now" ? head : 0));
  await sql.query(
    `insert into work.processes (name, planned)
     select * from unnest($1::text[], $2::bigint[]) as wanted (name, beginning) order by name
     on conflict do nothing`,
    [processes.map(({ name }) => name), beginnings],
  );
  return readPositions(sql, processes);
}

/** Like `planned`, for processes that are stored already. */
export async function readPositions(sql: Sql, processes: NamedProcesses): Promise<Map<string, number>> {
  const { rows } = await sql.query<{ name: string; planned: number }>(
    "select name, planned from work.planned where name = any($1)",
    [processes.map(({ name }) => name)],
  );
  return new Map(rows.map(({ name, planned }) => [name, planned]));
}

/**
 * Puts the most advanced of these processes in step: from now on they have no position of their own and move with the front. All others,
 * including those of another version of the service, keep their own position, so that the front skips no event for them. Returns the front.
 * No position changes.
 */
export async function joinSharedPosition(database: DatabaseRole, processes: NamedProcesses): Promise<number> {
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

/** Gives every process its own position. */
export async function separatePositions(sql: Sql): Promise<void> {
  await sql.query("update work.processes set planned = front.position from work.front where planned is null");
}
