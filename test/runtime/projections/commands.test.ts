import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "chai";
import { projections } from "#projections/index.ts";
import type { EventStore } from "#src/eventStore/eventStore.ts";
import { createPostgresEventStore } from "#src/eventStore/postgres/store.ts";
import { systemClock } from "#src/platform/clock.ts";
import { type BackgroundDatabase, connectDatabase, inBackground } from "#src/platform/postgres/database.ts";
import { createProjectionRunner } from "#src/runtime/projections/projectionRunner.ts";
import { createProcessRunner } from "#src/runtime/work/runner.ts";
import { type CommandOutcome, runHere } from "#test/support/commandHere.ts";
import { inFull } from "#test/support/full.ts";
import { createTestDatabase, type TestDatabase } from "#test/support/postgres.ts";
import { commandArguments } from "../../../scripts/support/childProcess.ts";
import { append, eventually, newEvent, quietLog } from "./support.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));

describe("npm run projections, npm run processes", () => {
  let test: TestDatabase;
  let database: BackgroundDatabase;
  let store: EventStore;
  let directory: string;

  before(async () => {
    test = await createTestDatabase();
    database = inBackground(connectDatabase(test));
    store = createPostgresEventStore({ connectionString: test.serviceUrl, logger: quietLog() });
    directory = mkdtempSync(join(tmpdir(), "countersign-"));
  });
  const running: { stop(): Promise<void> }[] = [];
  afterEach(() => Promise.all(running.splice(0).map((runner) => runner.stop())));
  after(async () => {
    await store.close();
    await database.close();
    await test.drop();
    rmSync(directory, { recursive: true });
  });

  const environment = () => ({
    DATABASE_URL: test.serviceUrl,
    DATABASE_OWNER_URL: test.ownerUrl,
    DATA_DIR: directory,
  });
  const asProcess = async (script: string, ...args: string[]): Promise<CommandOutcome> => {
    const program = commandArguments(script);
    return new Promise((resolve) => {
      const env = { ...process.env, ...environment() };
      execFile(process.execPath, [...program, ...args], { cwd: root, env }, (error, out, err) =>
        resolve({ code: error ? Number(error.code) : 0, out, err }),
      );
    });
  };
  /** Runs each command once in a separate process; the other cases run in this process. */
  const run = inFull
    ? asProcess
    : (script: string, ...args: string[]): Promise<CommandOutcome> => runHere(script, args, environment());

  it("npm run projections rebuilds next to a running service, finds a row changed by hand and corrects it", async () => {
    const runner = createProjectionRunner({
      store,
      database,
      projections,
      logger: quietLog(),
      instanceId: randomUUID(),
    });
    running.push(runner);
    await runner.start();
    const created = await run("workspace", "create", "--name", "Harbour Lights");
    expect(created.code, created.err).to.equal(0);
    await runner.caughtUp();
    await eventually(async () => (await database.reads.ofAll.query("select 1 from workspaces")).rows.length === 1);
    const clean = await run("projections", "verify");
    expect(clean).to.include({ code: 0 });
    expect(clean.out).to.match(/^workspaces: 1 rows at position \d+, equal$/m);
    await database.owner.query("update workspaces set name = 'Somebody Else'");
    const differing = await asProcess("projections", "verify", "workspaces");
    expect(differing.code).to.equal(1);
    expect(differing.out).to.match(/only in live: .*Somebody Else[\s\S]*only in replayed: .*Harbour Lights/);
    expect(await run("projections", "rebuild", "workspaces")).to.include({ code: 0, out: "workspaces: rebuilt\n" });
    expect((await run("projections", "verify")).code).to.equal(0);
  });

  it("npm run projections -- status shows each read model and the largest tables, with their sizes, within 72 columns", async () => {
    const runner = createProjectionRunner({
      ...{ store, database, projections, logger: quietLog(), instanceId: randomUUID() },
    });
    running.push(runner);
    await runner.start();
    expect((await run("workspace", "create", "--name", "Lighthouse")).code).to.equal(0);
    await runner.caughtUp();
    await database.owner.query("analyze workspaces");
    const { count } = (await database.reads.ofAll.query("select count(*) from workspaces")).rows[0]!;
    const { code, out } = await run("projections", "status");
    expect(code).to.equal(0);
    expect(out).to.match(/^The log ends at position \d+\. Numbers of rows are PostgreSQL's estimates\.$/m);
    expect(out).to.match(/^read model +version +behind +rows +tables +indexes$/m);
    expect(out).to.match(new RegExp(`^workspaces +\\d+ +0 +${count} +\\d+ \\w+ +\\d+ \\w+$`, "m"));
    for (const { name } of projections) expect(out).to.match(new RegExp(`^${name} .* (bytes|.B)$`, "m"));
    expect(out).to.match(
      /^largest other tables +rows +tables +indexes\n([\s\S]*\n)?es\.events +[\d,]+ +\d+ \w+ +\d+ \w+$/m,
    );
    expect(Math.max(...out.split("\n").map((line) => line.length))).to.be.at.most(72);

    for (const [name, version, rebuiltTo] of [
      ["feed", 0, null],
      ["search", 0, 1_200],
      ["drafts", -1, null],
      ["threads", -1, 4_321],
    ])
      await database.owner.query("update work.read_models set version = $2, rebuilt_to = $3 where name = $1", [
        name,
        version,
        rebuiltTo,
      ]);
    await database.owner.query("delete from work.read_models where name = 'rules'");
    const { out: marked } = await run("projections", "status");
    expect(marked)
      .to.match(/^feed .*\n {2}not filled yet$/m)
      .and.match(/^search .*\n {2}being filled, up to 1,200 so far$/m)
      .and.match(/^drafts .*\n {2}tables have version -1$/m)
      .and.match(/^threads .*\n {2}being rebuilt from version -1, up to 4,321 so far$/m)
      .and.match(/^rules .*\n {2}not created yet$/m);
  });

  it("npm run processes lists parked events without their content, and retries them", async () => {
    let broken = true;
    const toyRule = {
      name: "toyRule",
      categories: ["toy"],
      keyOf: ({ stream }: { stream: string }) => stream,
      on: {
        Happened: async () => {
          if (broken) throw new Error("the bell is broken");
        },
      },
    };
    const runner = createProcessRunner({
      ...{ store, database, clock: systemClock, logger: quietLog(), instanceId: "this one" },
      ...{ processes: [toyRule], projected: async () => true, backoff: () => 1 },
    });
    running.push(runner);
    runner.start();
    await append(store, "toy-1", newEvent("Happened", { secret: "a letter" }));
    await runner.idle();
    const listed = await asProcess("processes", "parked", "--process", "toyRule");
    expect(listed.out).to.match(
      /toyRule {2}toy-1 {2}event Happened at \d+, 5 tries, parked [\s\S]*the bell is broken[\s\S]*1 parked/,
    );
    expect(listed.out).not.to.include("a letter");
    expect((await run("processes", "parked", "--process", "another")).out).to.equal("no parked items\n");
    await database.query(
      `insert into work.lanes (process, key, workspace, state, due_at, obstacles)
       values ('toyRule', 'toy-2', '', 'waiting', 'infinity', '{workspace-1,identity-2}')`,
    );
    // Processes of another version of the service are listed too.
    await database.query("insert into work.processes (name, planned) values ('tomorrows', 1)");
    const { out: status } = await run("processes", "status");
    expect(status).to.match(/^planner: this one\n[\s\S]*'toyRule'/);
    expect(status).to.include("'tomorrows'").and.to.include("'(planner: who listens)'");
    expect(status).not.to.include("'listeners");
    expect(status).to.include("oldest_ready_s");
    expect(status).to.match(/set_aside_until_it_changes[\s\S]*'identity-2'[\s\S]*'workspace-1'/);
    await database.query("delete from work.lanes where key = 'toy-2'");
    broken = false;
    const id = /^(\d+) {2}toyRule/.exec(listed.out)![1]!;
    expect((await run("processes", "retry", id)).code).to.equal(0);
    await eventually(async () => (await database.query("select 1 from work.parked")).rows.length === 0);
    expect((await run("processes", "retry", "--all")).code).to.equal(1);
  });

  it("npm run projections and npm run processes explain their usage after a wrong argument", async () => {
    for (const [script, ...args] of [
      ["projections", "rebuild", "nonsense"],
      ["projections", "remake"],
      ["processes", "retry"],
      ["processes", "retry", "one"],
    ] as const) {
      const { code, err } = await run(script, ...args);
      expect(code).to.equal(1);
      expect(err).to.include(`npm run ${script} -- status`);
    }
  });
});
