import type { Sql } from "#src/postgres/database.ts";
import type { Process } from "#src/processes/process.ts";

/**
 * Up to where the log is planned for each of these processes. One that is new begins where it says: at the log's beginning, or with what
 * happens from now on (`head`); one that was renamed or merged goes on where the slowest of those before stood.
 */
export async function planned(sql: Sql, processes: readonly Process[], head: number): Promise<Map<string, number>> {
  const wanted = processes.map(({ name, begins = "with the log", formerly = [] }) => ({
    name,
    formerly,
    beginning: begins === "now" ? head : 0,
  }));
  await sql.query(
    `insert into work.processes (name, planned)
     select name, coalesce((select min(planned) from work.processes before where before.name = any(wanted.formerly)), beginning)
     from json_to_recordset($1::json) as wanted (name text, formerly text[], beginning bigint) order by name
     on conflict do nothing`,
    [JSON.stringify(wanted)],
  );
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
