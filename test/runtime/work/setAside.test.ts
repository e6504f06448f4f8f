import { expect } from "chai";
import type { Sql } from "#src/platform/postgres/database.ts";
import type { Process, ProcessObstacle } from "#src/processes/process.ts";
import { takeLeases } from "#src/runtime/projections/leases.ts";
import { writePlan } from "#src/runtime/work/plan.ts";
import { markForRetry, retryEveryMs, wakeLanesOfEndedObstacles } from "#src/runtime/work/setAside.ts";
import { append, eventually, newEvent } from "../projections/support.ts";
import { rule, useWorkTable } from "./support.ts";

const obstacle = "workspace-1";
const now = new Date("2026-01-01T00:00:00Z");
const page = 500;

describe("lanes that are set aside, and the end of their obstacle", () => {
  const work = useWorkTable();
  const { rows } = work;

  async function setAside(count: number, stream: string): Promise<void> {
    const { query } = work.database;
    await query("insert into work.tags (stream, revision) values ($1, 1) on conflict do nothing", [stream]);
    await query(
      `insert into work.lanes (process, key, workspace, state, due_at)
       select 'toyRule', $2 || '-toy-' || n, 'w', 'waiting', 'infinity' from generate_series(1, $1::integer) n`,
      [count, stream],
    );
    await query("update work.lanes set obstacles = array[$1] where starts_with(key, $1)", [stream]);
  }
  const endObstacle = (sql: Sql = work.database) =>
    sql.query("update work.tags set wake_before = nextval('work.places') where stream = $1", [obstacle]);
  const lanes = (state: string) => rows(`select key from work.lanes where state = '${state}'`);
  const waking = () => rows("select stream from work.tags where wake_before is not null");

  it("the plan with the end of an obstacle changes the row of the stream alone, and no lane", async () => {
    const holder = "here";
    await setAside(page + 100, obstacle);
    const [lease] = await takeLeases(work.database, ["planning"], { holder, lastsMs: 600_000 });
    await work.database.transaction(async (tx) => {
      await tx.query("select from work.lanes limit 1 for update");
      const plan = { planned: [], from: new Map(), front: 0, position: 2, ended: new Map([[obstacle, 2]]) };
      let over = false;
      const writing = writePlan(work.database, plan, { lease: lease!, holder }).finally(() => {
        over = true;
      });
      await eventually(async () => over || (await work.waitsForLock()));
      expect(over, "the plan is written although another holds one of the lanes").to.equal(true);
      await writing;
    });
    expect(await lanes("ready")).to.deep.equal([]);
    expect(await waking()).to.deep.equal([{ stream: obstacle }]);
  });

  it("lanes are woken by the page, under each stream in turn, without locks on other lanes or the stream", async () => {
    await setAside(2 * page + 1, obstacle);
    await setAside(3, "workspace-2");
    await work.database.query("update work.tags set wake_before = nextval('work.places')");
    await work.database.transaction(async (tx) => {
      expect(await wakeLanesOfEndedObstacles(tx)).to.equal(true);
      const free = await rows(
        "select key from work.lanes where starts_with(key, 'workspace-1') for update skip locked",
      );
      expect(free).to.have.length(page + 1);
      expect(
        await rows(`select stream from work.tags where stream = '${obstacle}' for update skip locked`),
      ).to.have.length(1);
    });
    expect(await lanes("ready")).to.have.length(page + 3);
    expect(await waking()).to.deep.equal([{ stream: obstacle }]);
    expect([
      await wakeLanesOfEndedObstacles(work.database),
      await wakeLanesOfEndedObstacles(work.database),
    ]).to.deep.equal([true, false]);
    expect(await lanes("waiting")).to.deep.equal([]);
    expect([await waking(), await rows("select * from work.set_aside")]).to.deep.equal([[], []]);
  });

  it("lanes are woken until none is left, also one that was locked, and after another end meanwhile", async () => {
    await setAside(2, obstacle);
    await endObstacle();
    await work.database.transaction(async (tx) => {
      await tx.query("select from work.lanes where key = 'workspace-1-toy-1' for update");
      expect(await wakeLanesOfEndedObstacles(work.database)).to.equal(false);
      expect(await lanes("ready")).to.deep.equal([{ key: "workspace-1-toy-2" }]);
      expect(await waking()).to.deep.equal([{ stream: obstacle }]);
    });
    const again: Sql = {
      async query(text, values) {
        if (text.includes("set wake_before = null")) await endObstacle();
        return work.database.query(text, values);
      },
    };
    await wakeLanesOfEndedObstacles(again);
    expect(await lanes("waiting")).to.deep.equal([]);
    expect(await waking()).to.deep.equal([{ stream: obstacle }]);
    await wakeLanesOfEndedObstacles(work.database);
    expect(await waking()).to.deep.equal([]);
  });

  it("lanes without an event that ends their obstacle are tried by the page, longest waiting first", async () => {
    await setAside(page + 1, obstacle);
    await work.database.query("update work.tags set try_at = $1", [now]);
    await markForRetry(work.database, now);
    while (await wakeLanesOfEndedObstacles(work.database));
    expect(await lanes("waiting")).to.deep.equal([{ key: `${obstacle}-toy-${page + 1}` }]);
    const later = new Date(now.getTime() + retryEveryMs);
    expect(await rows("select try_at from work.tags")).to.deep.equal([{ try_at: later }]);
    await work.database.query("delete from work.set_aside");
    await markForRetry(work.database, later);
    expect(await rows("select try_at, wake_before from work.tags")).to.deep.equal([
      { try_at: null, wake_before: null },
    ]);
  });

  it("set-aside lanes continue once each after their obstacle ends, and wait again behind another obstacle", async () => {
    const many = 30;
    const [installation, workspace] = ["installation-main", "workspace-1"];
    const paused = new Set([installation, workspace]);
    let calls = 0;
    const sees = async (stream: string): Promise<ProcessObstacle> => ({
      stream,
      revision: (await work.store.readLast(stream))?.revision ?? -1,
    });
    const send: Process = rule({
      on: {
        async Happened() {
          calls += 1;
          const setAside = await Promise.all([sees(installation), sees(workspace)]);
          return paused.size > 0 ? { setAside } : undefined;
        },
      },
    });
    await append(work.store, installation, newEvent("InstallationPaused"));
    await append(work.store, workspace, newEvent("SendingPaused"));
    const runners = [work.run([send]), work.run([send])];
    const idle = () => Promise.all(runners.map((runner) => runner.idle()));
    await Promise.all(Array.from({ length: many }, (_, n) => work.happen(`toy-${n}`, 1)));
    await idle();
    const aside = async () => (await rows("select key from work.lanes where obstacles is not null")).length;
    expect([calls, await aside()]).to.deep.equal([many, many]);

    await append(work.store, workspace, newEvent("WorkspaceRenamed", { name: "Other" }));
    await idle();
    expect(calls).to.equal(many);

    paused.delete(installation);
    await append(work.store, installation, newEvent("InstallationResumed"));
    await idle();
    expect([calls, await aside()]).to.deep.equal([2 * many, many]);

    paused.delete(workspace);
    await append(work.store, workspace, newEvent("SendingResumed"));
    await idle();
    expect([calls, await aside()]).to.deep.equal([3 * many, 0]);
    expect(await rows("select * from work.set_aside")).to.deep.equal([]);
  });
});
