import { readdir, readFile } from "node:fs/promises";
import type pg from "pg";
import { StartError } from "#src/platform/startError.ts";
import { oneAtATime } from "./oneAtATime.ts";

const folder = new URL(`${import.meta.resolve("#src/platform/postgres/migrations")}/`);

/**
 * Brings the schemas `es` (event log), `work` (what is under way) and `read` (read models) up to date. Runs as the owner; grants to
 * `serviceRole`, in the SQL files `:service`, quoted. Safe to run from several instances at once. Throws StartError for a database that an
 * earlier, incompatible version made.
 *
 * Not node-pg-migrate: it cannot put a role's name into a plain SQL file, and these lines are all that is needed of it.
 */
export const migrate = (ownerUrl: string, serviceRole: string): Promise<void> =>
  oneAtATime(ownerUrl, "migrations", async (client) => {
    for (const name of await pending(client)) {
      await apply(client, name, client.escapeIdentifier(serviceRole));
    }
  });

async function pending(client: pg.Client): Promise<string[]> {
  await client.query("create schema if not exists work");
  await client.query(
    "create table if not exists work.migrations (name text primary key, applied_at timestamptz not null default now())",
  );
  const { rows } = await client.query<{ name: string }>("select name from work.migrations order by name");
  const applied = rows.map(({ name }) => name);
  const files = (await readdir(folder)).filter((name) => name.endsWith(".sql")).sort();
  requireOurs(applied, files);
  return files.filter((name) => !applied.includes(name));
}

/**
 * Refuses a database of an earlier line of migrations: it has one that we do not know and that sorts before our last. Those that sort after it
 * are a newer version's, which may have started beside this one.
 */
function requireOurs(applied: readonly string[], files: readonly string[]): void {
  const foreign = applied.find((name) => !files.includes(name) && name < files.at(-1)!);
  if (foreign === undefined) return;
  throw new StartError(
    `The tables of this database were made by an earlier version (migration ${foreign}) and cannot be brought up to date: start with an empty database; for a development install, remove the directory DATA_DIR.`,
  );
}

async function apply(client: pg.Client, name: string, quotedServiceRole: string): Promise<void> {
  const sql = await readFile(new URL(name, folder), "utf8");
  await client.query("begin");
  try {
    await client.query(sql.replaceAll(":service", quotedServiceRole));
    await client.query("insert into work.migrations (name) values ($1)", [name]);
    await client.query("commit");
  } catch (error) {
    throw new Error(`migration ${name}: ${(error as Error).message}`, { cause: error });
  }
}
