import { readdir, readFile } from "node:fs/promises";
import type pg from "pg";
import { StartError } from "#src/platform/startError.ts";
import { oneAtATime } from "./oneAtATime.ts";

const folder = new URL(`${import.meta.resolve("#src/platform/postgres/migrations")}/`);

/**
 * Migrates the schemas `es` (event log), `work` (work in progress) and `read` (read models). Runs as the owner; grants rights to
 * `serviceRole`, in the SQL files `:service`, quoted. Safe to run from several instances at once. Throws StartError for a database made by
 * an earlier, incompatible version.
 *
 * Not node-pg-migrate: it cannot put a role's name into a plain SQL file, and these lines are all that is needed.
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
 * Refuses a database of an earlier line of migrations: it has an unknown migration that sorts before our last one. Unknown ones that sort
 * after it are from a newer version, which may run at the same time.
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
