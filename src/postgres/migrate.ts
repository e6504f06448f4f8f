import { readdir, readFile } from "node:fs/promises";
import pg from "pg";

const folder = new URL("./migrations/", import.meta.url);

/**
 * Brings the schemas `es` (event log) and `work` (leases, timers, checkpoints, blobs) up to date. Runs as the owner; grants to `serviceRole`.
 * In the SQL files `:service` stands for the quoted service role. Safe to run from several instances at once.
 */
export async function migrate(ownerUrl: string, serviceRole: string): Promise<void> {
  const client = new pg.Client({ connectionString: ownerUrl });
  await client.connect();
  try {
    await client.query("select pg_advisory_lock(727274)");
    await client.query("create schema if not exists work");
    await client.query("create table if not exists work.migrations (name text primary key, applied_at timestamptz not null default now())");
    const { rows } = await client.query("select name from work.migrations");
    const applied = new Set(rows.map((row) => row.name));
    for (const name of (await readdir(folder)).filter((file) => file.endsWith(".sql")).sort()) {
      if (applied.has(name)) continue;
      const sql = (await readFile(new URL(name, folder), "utf8")).replaceAll(":service", client.escapeIdentifier(serviceRole));
      await client.query("begin");
      await client.query(sql);
      await client.query("insert into work.migrations (name) values ($1)", [name]);
      await client.query("commit");
    }
  } finally {
    await client.end();
  }
}
