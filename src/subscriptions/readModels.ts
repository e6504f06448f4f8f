import { readFile } from "node:fs/promises";
import type { Projection } from "#projections/projection.ts";
import type { Database, Sql } from "#src/postgres/database.ts";

/** Where a read model's live tables are. */
export const liveSchema = "read";

const folder = new URL("../../projections/", import.meta.url);

/** Makes a projection's tables, empty, in a schema that the transaction's search_path names; the service role may fill and read them. */
export async function createTables(tx: Sql, projection: Projection, serviceRole: string): Promise<void> {
  await tx.query(await readFile(new URL(`${projection.name}/tables.sql`, folder), "utf8"));
  for (const table of projection.tables) {
    await tx.query(`grant select, insert, update, delete on ${table} to ${serviceRole}`);
  }
}

/** The service role's name, quoted for SQL. */
export async function serviceRoleOf(database: Database): Promise<string> {
  const { rows } = await database.query<{ role: string }>("select quote_ident(current_user) as role");
  return rows[0]!.role;
}

/** Makes the tables of projections that are new or changed; they start at the beginning of the log. Others are left alone. */
export async function ensureTables(database: Database, projections: readonly Projection[]): Promise<void> {
  const role = await serviceRoleOf(database);
  const missing = async (sql: Sql) => {
    const { rows } = await sql.query<{ name: string; version: number }>("select name, version from work.checkpoints");
    const versions = new Map(rows.map((row) => [row.name, row.version]));
    return projections.filter((projection) => versions.get(projection.name) !== projection.version);
  };
  if ((await missing(database)).length === 0) return;
  await database.owner.transaction(async (tx) => {
    // Another instance may be doing the same.
    await tx.query("select pg_advisory_xact_lock(727275)");
    await tx.query(`set local search_path = ${liveSchema}`);
    for (const projection of await missing(tx)) {
      for (const table of projection.tables.toReversed()) await tx.query(`drop table if exists ${table} cascade`);
      await createTables(tx, projection, role);
      await tx.query(
        `insert into work.checkpoints (name, version, position) values ($1, $2, 0)
         on conflict (name) do update set version = excluded.version, position = 0`,
        [projection.name, projection.version],
      );
    }
  });
}

/** How far each projection is. */
export async function positionsOf(sql: Sql, projections: readonly Projection[]): Promise<Map<string, number>> {
  const { rows } = await sql.query<{ name: string; position: number }>(
    "select name, position from work.checkpoints where name = any($1)",
    [projections.map((projection) => projection.name)],
  );
  return new Map(rows.map((row) => [row.name, row.position]));
}
