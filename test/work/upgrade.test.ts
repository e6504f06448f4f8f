import { readdir, readFile } from "node:fs/promises";
import { expect } from "chai";
import pg from "pg";
import { systemClock } from "#src/clock.ts";
import { createPostgresEventStore } from "#src/eventStore/postgres/store.ts";
import { connectDatabase } from "#src/postgres/database.ts";
import { migrate } from "#src/postgres/migrate.ts";
import type { Process } from "#src/processes/process.ts";
import { takeLeases } from "#src/subscriptions/leases.ts";
import { requestRetry } from "#src/work/parked.ts";
import { createProcessRunner } from "#src/work/runner.ts";
import { createBareDatabase } from "#test/support/postgres.ts";
import { append, newEvent, quietLog } from "../subscriptions/support.ts";

const folder = new URL("../../src/postgres/migrations/", import.meta.url);
const workspaceId = "11111111-1111-7111-8111-111111111111";

const workTable = ["0014-work-table.sql", "0016-work-faults.sql"];

/** The database as a release before the work table left it; how events are appended is as it is now. */
async function migrateAsBefore(ownerUrl: string, serviceRole: string): Promise<void> {
  const client = new pg.Client({ connectionString: ownerUrl });
  await client.connect();
  await client.query(
    "create schema work; create table work.migrations (name text primary key, applied_at timestamptz default now())",
  );
  for (const name of (await readdir(folder)).filter((file) => !workTable.includes(file)).sort()) {
    await client.query((await readFile(new URL(name, folder), "utf8")).replaceAll(":service", serviceRole));
    await client.query("insert into work.migrations (name) values ($1)", [name]);
  }
  await client.end();
}

describe("a database from before the work table", () => {
  it("keeps where each process stood, its timers and what was parked; an instance of before goes on no more", async () => {
    const test = await createBareDatabase();
    await migrateAsBefore(test.ownerUrl, test.serviceRole);
    const database = connectDatabase(test);
    const store = createPostgresEventStore({ connectionString: test.serviceUrl, logger: quietLog() });
    const happened = (number: number) => append(store, "toy-1", newEvent("Happened", { number }));
    const second = await happened(1).then(() => happened(2));
    await happened(3);
    const [parked] = await store.read("toy-1", 0, 1);
    await database.query(
      "insert into work.leases (name, holder, epoch, expires_at, position) values ('process:toyRule', 'before', 4, now() + interval '5 s', $1)",
      [second],
    );
    await database.query(
      `insert into work.timers (process, key, name, due_at, payload)
       values ('toyRule', 'toy-1', 'alarm', '2020-01-01', $1), ('toyRule', 'toy-2', 'alarm', '2999-01-01', '{}')`,
      [JSON.stringify({ workspaceId, reason: "late" })],
    );
    await database.query(
      "insert into work.parked (process, key, position, item, error, tries, parked_at) values ('toyRule', 'toy-1', $1, $2, 'broken', 5, now())",
      [parked!.position, JSON.stringify(parked)],
    );

    await migrate(test.ownerUrl, test.serviceRole);
    await migrate(test.ownerUrl, test.serviceRole);

    expect(await takeLeases(database, ["process:toyRule"], { holder: "before", lastsMs: 5_000 })).to.deep.equal([]);
    const seen: unknown[] = [];
    const toyRule: Process = {
      name: "toyRule",
      categories: ["toy"],
      keyOf: ({ stream }) => stream,
      on: { Happened: async ({ data }) => void seen.push(data.number) },
      onTimer: async ({ key, name, dueAt, payload }) =>
        void seen.push([key, name, dueAt.toISOString(), payload.reason, payload.workspaceId]),
    };
    const runner = createProcessRunner({
      ...{ store, database, clock: systemClock, logger: quietLog(), instanceId: "now", processes: [toyRule] },
    });
    runner.start();
    await runner.idle();
    expect(seen).to.have.deep.members([3, ["toy-1", "alarm", "2020-01-01T00:00:00.000Z", "late", workspaceId]]);
    const { rows } = await database.query("select key, timer from work.items");
    expect(rows).to.deep.equal([{ key: "toy-2", timer: "alarm" }]);
    await requestRetry(database, { process: "toyRule" }, new Date());
    await runner.idle();
    expect(seen.at(-1)).to.equal(1);
    expect((await database.query("select 1 from work.parked")).rows).to.deep.equal([]);

    await runner.stop();
    await store.close();
    await database.close();
    await test.drop();
  });
});
