import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import type { TestDatabase } from "#test/support/postgres.ts";

/** Queries as the owner of the tables, on a separate connection. */
export async function asOwner<Row extends pg.QueryResultRow>(database: TestDatabase, sql: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: database.ownerUrl });
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}

/** Queries with the service's rights only. Returns the rows of the last statement. */
export async function asService<Row extends pg.QueryResultRow>(database: TestDatabase, sql: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: database.serviceUrl });
  await client.connect();
  const results = [await client.query<Row>(sql).finally(() => client.end())].flat();
  return results.at(-1)!.rows;
}

/** Ends the service's connections whose name begins with `name`, on the server. Returns their number. */
export async function cutConnections(database: TestDatabase, name = "countersign log"): Promise<number> {
  const [row] = await asAdmin<{ cut: number }>(
    "select count(pg_terminate_backend(pid))::int as cut from pg_stat_activity where usename = $1 and application_name like $2 || '%'",
    [database.serviceRole, name],
  );
  return row!.cut;
}

/** Returns the process ids of the backends of the service's connections with this name. */
export async function backendsOf(database: TestDatabase, name: string): Promise<number[]> {
  const sql = "select pid from pg_stat_activity where usename = $1 and application_name = $2 order by pid";
  return (await asAdmin<{ pid: number }>(sql, [database.serviceRole, name])).map(({ pid }) => pid);
}

/** Resolves when a connection of the service with this name waits for a lock. */
export async function untilBlocked(database: TestDatabase, name: string): Promise<void> {
  const blocked =
    "select 1 from pg_stat_activity where usename = $1 and application_name = $2 and wait_event_type = 'Lock'";
  while ((await asAdmin(blocked, [database.serviceRole, name])).length === 0) await sleep(20);
}

async function asAdmin<Row extends pg.QueryResultRow>(sql: string, values: unknown[]): Promise<Row[]> {
  const client = new pg.Client({ connectionString: process.env.TEST_DATABASE_ADMIN_URL });
  await client.connect();
  try {
    return (await client.query<Row>(sql, values)).rows;
  } finally {
    await client.end();
  }
}
