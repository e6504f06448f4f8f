import { randomUUID } from "node:crypto";
import { expect } from "chai";
import type { DatabaseRole, Sql } from "#src/platform/postgres/database.ts";
import { takeLeases } from "#src/runtime/projections/leases.ts";
import type { Completion } from "#src/runtime/work/completion.ts";
import { recordCompletions } from "#src/runtime/work/completions.ts";
import { claimLanes } from "#src/runtime/work/lanes.ts";
import { writePlan } from "#src/runtime/work/plan.ts";
import type { Recorded } from "#streams/event.ts";
import { eventually } from "../projections/support.ts";
import { useWorkTable } from "./support.ts";

const now = new Date("2026-01-01T00:00:00Z");

describe("the locks of an ending that sets timers under other keys", () => {
  const work = useWorkTable();
  const holder = "here";

  const event = (stream: string, position: number): Recorded => ({
    ...{ type: "Happened", data: {}, id: randomUUID(), schemaVersion: 1, stream, revision: position, position },
    metadata: { workspaceId: "w", actor: { kind: "system", id: "t" }, correlationId: "c", causationId: "c", at: "" },
  });

  async function planner() {
    const [lease] = await takeLeases(work.database, ["planning"], { holder, lastsMs: 600_000 });
    await work.database.query("insert into work.processes (name, planned) values ('toyRule', 0)");
    return (from: number, events: readonly Recorded[]) => {
      const planned = events.map((each) => ({ process: "toyRule", key: each.stream, event: each }));
      const place = { from: new Map([["toyRule", from]]), position: events.at(-1)!.position };
      return writePlan(work.database, { planned, ...place, ended: new Map() }, { lease: lease!, holder });
    };
  }
  const claim = () =>
    claimLanes(work.database, { rooms: [{ process: "toyRule", lanes: 5, share: 5, atWork: {} }], holder, now });
  const timer = (key: string) => ({
    set: { key, name: "later", dueAt: new Date(now.getTime() + 60_000), payload: {} },
  });

  /** Stops when the lane of a timer is locked, until `meanwhile` waits for a lock or has ended. */
  const stoppingAtFirstLane = (meanwhile: () => Promise<unknown>): DatabaseRole => ({
    ...work.database,
    transaction: (inner) =>
      work.database.transaction((tx) => {
        let met = false;
        const query: Sql["query"] = async (text: string, values?: unknown[]) => {
          const answer = await tx.query(text, values);
          if (met || !text.includes("insert into work.lanes")) return answer as never;
          met = true;
          await meanwhile();
          return answer as never;
        };
        return inner({ ...tx, query });
      }),
  });

  it("an ending does not deadlock with a plan that makes the same lanes", async () => {
    const plan = await planner();
    await plan(0, [event("toy-m", 1)]);
    const [claimed] = await claim();
    let planning: Promise<unknown> | undefined;
    const database = stoppingAtFirstLane(async () => {
      let over = false;
      planning = plan(1, [event("toy-a", 2), event("toy-z", 3)]).finally(() => {
        over = true;
      });
      const waits = "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
      await eventually(async () => over || (await work.database.query(waits)).rows.length > 0);
    });
    const ending = { lane: claimed!.lane, done: claimed!.items[0]!.id, timers: [timer("toy-z"), timer("toy-a")] };
    const { held } = await recordCompletions(database, [{ ...ending, next: { how: "go on" } }], now);
    await planning;
    expect([...held]).to.deep.equal([claimed!.lane.claim]);
    expect(await work.rows("select key from work.lanes order by key")).to.deep.equal([
      { key: "toy-a" },
      { key: "toy-z" },
    ]);
    expect(await work.rows("select key, timer from work.items where timer is not null order by key")).to.deep.equal([
      { key: "toy-a", timer: "later" },
      { key: "toy-z", timer: "later" },
    ]);
  });

  for (const by of ["a plan", "an ending"]) {
    it(`an ending locks lanes in the order of their keys, like ${by} that holds them`, async () => {
      const plan = await planner();
      await plan(0, [event("toy-e", 1)]);
      const [claimed] = await claim();
      await plan(1, [event("toy-z", 2), event("toy-m", 3), event("toy-a", 4)]);
      const timers = ["toy-z", "toy-m", "toy-a"].map(timer);
      const ending: Completion = { lane: claimed!.lane, done: claimed!.items[0]!.id, timers, next: { how: "go on" } };
      let locking: Promise<unknown> | undefined;
      await work.database.transaction(async (tx) => {
        await tx.query("select from work.lanes where key = 'toy-m' for update");
        locking =
          by === "a plan"
            ? plan(4, [event("toy-z", 5), event("toy-m", 6), event("toy-a", 7)])
            : recordCompletions(work.database, [ending], now);
        await eventually(work.waitsForLock);
        const free = "select key from work.lanes where key in ('toy-a', 'toy-z') for update skip locked";
        expect(await work.rows(free)).to.deep.equal([{ key: "toy-z" }]);
      });
      await locking;
    });
  }

  it("an ending with a lost claim leaves nothing behind", async () => {
    const plan = await planner();
    await plan(0, [event("toy-m", 1)]);
    const [claimed] = await claim();
    await work.database.query("update work.lanes set claim = gen_random_uuid()");
    const { held } = await recordCompletions(work.database, [{ lane: claimed!.lane, timers: [timer("toy-z")] }], now);
    expect([...held]).not.to.include(claimed!.lane.claim);
    expect(await work.rows("select key from work.lanes")).to.deep.equal([{ key: "toy-m" }]);
    expect(await work.rows("select key from work.items where timer is not null")).to.deep.equal([]);
  });
});
