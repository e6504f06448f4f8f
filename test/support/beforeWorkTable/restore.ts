import { readFile } from "node:fs/promises";
import pg from "pg";
import type { TestDatabase } from "../postgres.ts";

/** A line of rows.jsonl. */
export type Stored = { table: string; row: Record<string, unknown> };

const migrations = new URL("../../../src/postgres/migrations/", import.meta.url);
/** A time, as events and PostgreSQL write it. */
const times = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)/g;

/**
 * Fills an empty database with what the release before the work table left (make.ts), in the tables of then. `endedMsAgo`: all of its times are
 * moved, so that it was stopped that long before `now`.
 */
export async function restoreBefore(
  { ownerUrl, serviceRole }: TestDatabase,
  { now, endedMsAgo }: { now: Date; endedMsAgo: number },
): Promise<void> {
  const stored = await storedRows(now.getTime() - endedMsAgo);
  const client = new pg.Client({ connectionString: ownerUrl });
  await client.connect();
  try {
    await client.query("create schema work");
    await client.query(
      "create table work.migrations (name text primary key, applied_at timestamptz not null default now())",
    );
    for (const { table, row } of stored.filter(({ table }) => table === "work.migrations")) {
      await client.query(await migrationOf(row.name as string, client.escapeIdentifier(serviceRole)));
      await insert(client, { table, row });
    }
    for (const each of stored.filter(({ table }) => table !== "work.migrations")) await insert(client, each);
  } finally {
    await client.end();
  }
}

async function storedRows(endsAt: number): Promise<Stored[]> {
  const text = await readFile(new URL("rows.jsonl", import.meta.url), "utf8");
  const rows = (from: string): Stored[] =>
    from
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
  const recorded = rows(text).flatMap(({ row }) => (row.recorded_at ? Date.parse(row.recorded_at as string) : []));
  const moved = endsAt - Math.max(...recorded);
  return rows(text.replaceAll(times, (time) => new Date(Date.parse(time) + moved).toISOString()));
}

/** Two had other numbers then. */
const renamed: Record<string, string> = {
  "0015-contact-search.sql": "0012-contact-search.sql",
  "0016-idempotency-secrets.sql": "0013-idempotency-secrets.sql",
};

const migrationOf = async (name: string, role: string): Promise<string> =>
  (await readFile(new URL(renamed[name] ?? name, migrations), "utf8")).replaceAll(":service", role);

/** What a table makes of a row by itself is not inserted. */
async function insert(client: pg.Client, { table, row: { size: _, ...row } }: Stored): Promise<void> {
  const columns = Object.keys(row).join(", ");
  await client.query(
    `insert into ${table} (${columns}) overriding system value select ${columns} from json_populate_record(null::${table}, $1)`,
    [JSON.stringify(row)],
  );
}
