import { readdir, readFile } from "node:fs/promises";
import { expect } from "chai";
import pg from "pg";
import { migrate } from "#src/postgres/migrate.ts";
import { createTestDatabase } from "#test/support/postgres.ts";

const folder = new URL("../../src/postgres/migrations/", import.meta.url);

/** A database as it was before processes shared a work table. */
async function before(client: pg.Client, service: string): Promise<void> {
  await client.query("drop schema work cascade; drop schema es cascade; drop schema read cascade; create schema work");
  await client.query("create table work.migrations (name text primary key, applied_at timestamptz default now())");
  for (const name of (await readdir(folder)).filter((file) => file.endsWith(".sql") && file < "0014").sort()) {
    await client.query((await readFile(new URL(name, folder), "utf8")).replaceAll(":service", service));
    await client.query("insert into work.migrations (name) values ($1)", [name]);
  }
}

describe("deliver, after an upgrade", () => {
  it("has the timers and parked items of what it was made of, under one lane for each draft", async () => {
    const database = await createTestDatabase();
    const client = new pg.Client({ connectionString: database.ownerUrl });
    await client.connect();
    try {
      await before(client, client.escapeIdentifier(database.serviceRole));
      await client.query(
        `insert into work.timers (process, key, name, due_at, payload) values
           ('deliverDraft', 'draft 1', 'retry', '2026-01-02', '{"workspaceId": "w"}'),
           ('recoverClaims', 'draft 1', 'attempt 1', '2026-01-01', '{"workspaceId": "w"}'),
           ('deliverDraft', 'draft 2', 'wait', '2026-01-03', '{"workspaceId": "w"}'),
           ('escalateUnanswered', 'draft 2', 'escalate', '2026-01-04', '{"workspaceId": "w"}')`,
      );
      await client.query(
        `insert into work.parked (process, key, position, item, error, tries, parked_at)
         values ('finishSends', 'draft 3', 7, '{}', 'no', 5, now())`,
      );
      await migrate(database.ownerUrl, database.serviceRole);
      const lanes = "select process, key, workspace, state, due_at::date::text as due from work.lanes order by 1, 2";
      expect((await client.query(lanes)).rows).to.deep.equal([
        { process: "deliver", key: "draft 1", workspace: "w", state: "waiting", due: "2026-01-01" },
        { process: "deliver", key: "draft 2", workspace: "w", state: "waiting", due: "2026-01-03" },
        { process: "escalateUnanswered", key: "draft 2", workspace: "w", state: "waiting", due: "2026-01-04" },
      ]);
      const items = "select process, key, timer from work.items order by 1, 2, 3";
      expect((await client.query(items)).rows.map((row) => Object.values(row).join(" "))).to.deep.equal([
        "deliver draft 1 attempt 1",
        "deliver draft 1 retry",
        "deliver draft 2 wait",
        "escalateUnanswered draft 2 escalate",
      ]);
      expect((await client.query("select process from work.parked")).rows).to.deep.equal([{ process: "deliver" }]);
    } finally {
      await client.end();
      await database.drop();
    }
  });
});
