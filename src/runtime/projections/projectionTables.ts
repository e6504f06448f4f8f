import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import type { Projection } from "#projections/projection.ts";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import type { Database, Sql } from "#src/platform/postgres/database.ts";
import { lockCheckpoint, lockReadModels, storeUnfilled } from "./membership.ts";
import { isTransient } from "./retrying.ts";

/** Schema of the live read models. */
export const liveSchema = "read";

/** The DDL of a projection's tables, with unqualified names. */
export type TablesSql = (projection: Projection) => Promise<string>;

/** Reads `projections/<name>/tables.sql`. */
export const tablesFile: TablesSql = ({ name }) =>
  readFile(new URL(import.meta.resolve(`#projections/${name}/tables.sql`)), "utf8");

/** Reads `projections/<name>/indexes.sql`, which is run once on new tables. */
const lateIndexes: TablesSql = ({ name }) =>
  readFile(new URL(import.meta.resolve(`#projections/${name}/indexes.sql`)), "utf8");

/** Creates the indexes that only queries use, on tables that do not have them yet. */
export async function createLateIndexes(tx: Sql, schema: string, projection: Projection): Promise<void> {
  if (!projection.hasLateIndexes) return;
  await useSchemas(tx, [schema]);
  await tx.query("set local maintenance_work_mem = '256MB'");
  await tx.query(await lateIndexes(projection));
}

/** Updates the query planner's statistics of a projection's tables. */
export async function analyse(tx: Sql, schema: string, { tables }: Projection): Promise<void> {
  if (tables.length === 0) return;
  await useSchemas(tx, [schema]);
  await tx.query(`analyze ${tables.map(quoteIdentifier).join(", ")}`);
}

export const quoteIdentifier = (name: string): string => pg.escapeIdentifier(name);

/** Makes unqualified names mean those of these schemas, for the rest of the transaction. */
export async function useSchemas(tx: Sql, schemas: readonly string[]): Promise<void> {
  await tx.query(`set local search_path = ${schemas.map(quoteIdentifier).join(", ")}`);
}

/** Returns the role that reads and writes the tables. */
export async function serviceRoleOf(database: Database): Promise<string> {
  const { rows } = await database.query<{ role: string }>("select current_user as role");
  return rows[0]!.role;
}

/** Input for creating a projection's tables: their DDL, and the role that reads and writes them. */
export type TableSetup = { projection: Projection; ddl: string; serviceRole: string };

/** Creates a projection's empty tables in an existing schema, for the owner and the service role. */
export async function createTables(
  tx: Sql,
  schema: string,
  { projection, ddl, serviceRole }: TableSetup,
): Promise<void> {
  await useSchemas(tx, [schema]);
  await tx.query(ddl);
  const tables = projection.tables.map(quoteIdentifier).join(", ");
  if (tables) await tx.query(`grant select, insert, update, delete on ${tables} to ${quoteIdentifier(serviceRole)}`);
}

/** Lets the service role read and write the rows of one workspace at a time. Before this, filling the tables is faster. */
export async function isolate(tx: Sql, schema: string, { tables }: Projection): Promise<void> {
  for (const table of tables) {
    await tx.query("select work.isolate(format('%I.%I', $1::text, $2::text)::regclass)", [schema, table]);
  }
}

/**
 * Returns the names of the projections whose tables all exist in their version. A start asks this once for all, and as a rule has nothing
 * else to do. Takes no lock and changes nothing.
 */
export async function completeProjections(sql: Sql, projections: readonly Projection[]): Promise<Set<string>> {
  const tables = projections.flatMap(({ name, tables }) => tables.map((table) => [name, table] as const));
  const { rows } = await sql.query<{ name: string }>(
    `select name from unnest($1::text[], $2::int[]) as wanted (name, version) join work.read_models using (name, version)
     where not exists (
       select from unnest($3::text[], $4::text[]) as needed (projection, name)
       where needed.projection = wanted.name and to_regclass(format('%I.%I', $5::text, needed.name)) is null
     )`,
    [
      projections.map(({ name }) => name),
      projections.map(({ version }) => version),
      tables.map(([name]) => name),
      tables.map(([, table]) => table),
      liveSchema,
    ],
  );
  return new Set(rows.map(({ name }) => name));
}

/** State of a projection's tables: present and of this version, or still to be filled by a rebuild. */
export type TablesState = "sound" | "toBeRebuilt";

/** Limits of waiting for a table that is being read: brief, repeated waits, because later readers would queue behind a long one. */
const lockTimeout = "500ms";
const tries = 20;
const betweenTriesMs = 250;

/**
 * Makes sure that a projection has tables and its rows in `work`. New tables are empty, and those of another version are left as they are:
 * both need a rebuild. Runs as the owner; safe from several instances at once. Throws the database's errors, a lock timeout after about
 * 15 s.
 */
export async function ensureTables(database: Database, making: TableSetup): Promise<TablesState> {
  for (let tried = 1; ; tried++) {
    try {
      return await ensureOnce(database, making);
    } catch (error) {
      if (!isTransient(error) || error instanceof Unavailable || tried === tries) throw error;
      await sleep(betweenTriesMs);
    }
  }
}

/** Uses a separate advisory lock: appends use another, and do not wait for tables. */
function ensureOnce(database: Database, making: TableSetup): Promise<TablesState> {
  const { projection } = making;
  return database.owner.transaction(async (tx) => {
    await tx.query(`set local lock_timeout = '${lockTimeout}'`);
    await lockReadModels(tx);
    const { rows } = await tx.query<{ version: number; checkpoint: string }>(
      "select version, checkpoint from work.read_models where name = $1",
      [projection.name],
    );
    const missing = await missingTables(tx, projection.tables);
    if (rows[0] && rows[0].version !== projection.version) return "toBeRebuilt";
    if (rows[0] && missing.length === 0) return "sound";
    // Locks the checkpoint before the tables, in a writer's order, so that the two cannot deadlock.
    if (rows[0]) await lockCheckpoint(tx, rows[0].checkpoint);
    const leftOver = projection.tables.filter((table) => !missing.includes(table));
    await useSchemas(tx, [liveSchema]);
    if (leftOver.length > 0) await tx.query(`drop table ${leftOver.map(quoteIdentifier).join(", ")} cascade`);
    await createTables(tx, liveSchema, making);
    await createLateIndexes(tx, liveSchema, projection);
    await isolate(tx, liveSchema, projection);
    await storeUnfilled(tx, projection);
    return "toBeRebuilt";
  });
}

async function missingTables(tx: Sql, tables: readonly string[]): Promise<string[]> {
  const { rows } = await tx.query<{ name: string }>(
    "select name from unnest($1::text[]) as wanted (name) where to_regclass(format('%I.%I', $2::text, name)) is null",
    [tables, liveSchema],
  );
  return rows.map((row) => row.name);
}
