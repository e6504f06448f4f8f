import type { Sql } from "#src/postgres/database.ts";
import type { Process } from "#src/processes/process.ts";

/**
 * Up to where the log is planned for each of these processes. One that is new begins where it says: at the log's beginning, or with what
 * happens from now on (`head`); one that was renamed or merged goes on where the slowest of those before stood.
 */
export async function planned(sql: Sql, processes: readonly Process[], head: number): Promise<Map<string, number>> {
  for (const { name, begins = "with the log", formerly = [] } of processes) {
    await sql.query(
      `insert into work.processes (name, planned)
       select $1, coalesce((select min(planned) from work.processes where name = any($2)), $3) on conflict do nothing`,
      [name, formerly, begins === "now" ? head : 0],
    );
  }
  return storedPlanned(sql, processes);
}

/** The same of processes that were begun. */
export async function storedPlanned(sql: Sql, processes: readonly { name: string }[]): Promise<Map<string, number>> {
  const { rows } = await sql.query<{ name: string; planned: number }>(
    "select name, planned from work.processes where name = any($1)",
    [processes.map(({ name }) => name)],
  );
  return new Map(rows.map(({ name, planned }) => [name, planned]));
}
