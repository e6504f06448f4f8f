import { readFile } from "node:fs/promises";
import type { Projection, ProjectorTx } from "#projections/projection.ts";
import { connectDatabase, type Database, type Sql } from "#src/platform/postgres/database.ts";
import type { Recorded } from "#streams/event.ts";
import { createTestDatabase, type TestDatabase } from "./postgres.ts";

/**
 * For the tests of one `describe`: runs `work` in a transaction whose tables no one else sees and that is rolled back, and returns its
 * result.
 */
export function unseenTables(): <Answer>(work: (tx: Sql) => Promise<Answer>) => Promise<Answer> {
  let testDatabase: TestDatabase;
  let database: Database;
  before(async () => {
    testDatabase = await createTestDatabase();
    database = connectDatabase(testDatabase);
  });
  after(async () => {
    await database.close();
    await testDatabase.drop();
  });
  return async (work) => {
    const done = new Error("this is rolled back");
    let answer: Awaited<ReturnType<typeof work>> | undefined;
    const asked = database.transaction(async (tx) => {
      await tx.query("set local search_path = pg_temp");
      answer = await work(tx);
      throw done;
    });
    await asked.catch((error) => {
      if (error !== done) throw error;
    });
    return answer as Awaited<ReturnType<typeof work>>;
  };
}

/** Makes the empty tables of a read model. */
export async function makeTables({ name }: Pick<Projection, "name">, sql: Pick<Sql, "query">): Promise<void> {
  await sql.query(await readFile(new URL(`../../projections/${name}/tables.sql`, import.meta.url), "utf8"));
}

/** Makes a projector's context on this connection, and a function that waits until everything is written. */
export function projectorOn(sql: Pick<Sql, "query">): { tx: ProjectorTx; written(): Promise<void> } {
  let last: Promise<unknown> = Promise.resolve();
  const query: Sql["query"] = (text, values) => {
    const answer = last.then(() => sql.query(text, values));
    last = answer;
    return answer as never;
  };
  const tx: ProjectorTx = { query, write: (text, values) => void query(text, values).catch(() => {}) };
  return { tx, written: async () => void (await last) };
}

/** Projects these events, and waits until they are written. */
export async function project(
  { project }: Pick<Projection, "project">,
  sql: Pick<Sql, "query">,
  events: readonly Recorded[],
): Promise<void> {
  const { tx, written } = projectorOn(sql);
  await project(tx, events);
  await written();
}
