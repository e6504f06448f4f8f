import { readdir, readFile } from "node:fs/promises";
import type pg from "pg";
import { oneAtATime } from "./oneAtATime.ts";

const folder = new URL("./migrations/", import.meta.url);

/** What a migration was called when it was applied by an earlier release: the same file, which must not run twice. */
const formerNames = [
  ["0015-contact-search.sql", "0012-contact-search.sql"],
  ["0016-idempotency-secrets.sql", "0013-idempotency-secrets.sql"],
] as const;

/**
 * Brings the schemas `es` (event log) and `work` (leases, timers, checkpoints, blobs) up to date. Runs as the owner; grants to `serviceRole`.
 * In the SQL files `:service` is the quoted service role. Safe to run from several instances at once.
 *
 * Not node-pg-migrate: it has no place to put a role's name into a plain SQL file, and these lines are all that is needed of it.
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
  for (const names of formerNames)
    await client.query("update work.migrations set name = $2 where name = $1", [...names]);
  const { rows } = await client.query("select name from work.migrations");
  const applied = new Set(rows.map((row) => row.name));
  const files = await readdir(folder);
  return files.filter((name) => name.endsWith(".sql") && !applied.has(name)).sort();
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
