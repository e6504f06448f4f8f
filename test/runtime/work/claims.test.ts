import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { systemClock } from "#src/platform/clock.ts";
import type { DatabaseRole, Sql } from "#src/platform/postgres/database.ts";
import { takeLeases } from "#src/runtime/projections/leases.ts";
import type { Completion } from "#src/runtime/work/completion.ts";
import { createCompletionQueue } from "#src/runtime/work/completionQueue.ts";
import { recordCompletions } from "#src/runtime/work/completions.ts";
import { isEventItem } from "#src/runtime/work/items.ts";
import { type ClaimedLane, claimLanes, makeDueLanesReady } from "#src/runtime/work/lanes.ts";
import { PlanMoved, writePlan } from "#src/runtime/work/plan.ts";
import { markForRetry, retryEveryMs, wakeLanesOfEndedObstacles } from "#src/runtime/work/setAside.ts";
import type { Recorded } from "#streams/event.ts";
import { eventually, quietLog } from "../projections/support.ts";
import { faultyDatabase } from "./faultyDatabase.ts";
import { useWorkTable } from "./support.ts";

const now = new Date("2026-01-01T00:00:00Z");
const inMs = (ms: number): Date => new Date(now.getTime() + ms);
const holder = "here";

/** Plans, claims and completes lanes repeatedly, with the real statements. */
describe("claimed lanes", () => {
  const work = useWorkTable();
  let lease: { name: string; epoch: number };
  let position = 0;
  beforeEach(async () => {
    position = 0;
    [lease] = (await takeLeases(work.database, ["planning"], { holder, lastsMs: 600_000 })) as [typeof lease];
    await work.database.query("insert into work.processes (name, planned) values ('toyRule', 0)");
  });

  const event = (key: string, workspaceId: string): Recorded => {
    position += 1;
    return {
      ...{ type: "Happened", data: {}, id: randomUUID(), schemaVersion: 1 },
      ...{ stream: key, revision: position, position },
      metadata: { workspaceId, actor: { kind: "system", id: "t" }, correlationId: "c", causationId: "c", at: "" },
    };
  };
  const within = (tx: Sql): DatabaseRole => ({ ...tx, transaction: (inner) => inner(tx) });

  function plan(keys: readonly string[], { workspace = "w", by = holder } = {}): Promise<void> {
    const from = new Map([["toyRule", position]]);
    const events = keys.map((key) => event(key, workspace));
    const planned = events.map((each) => ({ process: "toyRule", key: each.stream, event: each }));
    return writePlan(work.database, { planned, from, position, ended: new Map() }, { lease, holder: by });
  }
  const briefly = ({ lane, items }: ClaimedLane) => [
    lane.key,
    ...items.map((item) => (isEventItem(item) ? item.position : item.timer.name)),
  ];
  const claim = (database: DatabaseRole = work.database, at = now) =>
    claimLanes(database, {
      rooms: [{ process: "toyRule", lanes: 9, share: 9, atWork: {} }],
      ...{ holder: "there", now: at },
    });
  const end = (ending: Completion, database: DatabaseRole = work.database) =>
    recordCompletions(database, [ending], now);
  const states = () => work.rows("select key, state, holder from work.lanes order by key");

  it("a claimed lane has its items in order, also a lane that was set aside", async () => {
    await plan(["a"]);
    const [waiting] = await claim();
    const timer = { key: "a", name: "later", dueAt: inMs(60_000), payload: {} };
    await end({ lane: waiting!.lane, timers: [{ set: timer }], next: { how: "set aside", obstacles: [] } });
    await plan(["b", "a", "b"]);
    const taken = await claim();
    expect(taken.map(briefly)).to.deep.equal([
      ["a", 1, 3],
      ["b", 2, 4],
    ]);
    expect(await claim()).to.deep.equal([]);
    expect(await work.rows("select turn from work.turns where workspace = '*'")).to.deep.equal([{ turn: 3 }]);
    for (const { lane } of taken) expect((await end({ lane, next: { how: "go on" } })).held.size).to.equal(1);
    expect((await claim()).map(briefly)).to.deep.equal(taken.map(briefly));
  });

  it("lanes are claimed by turn: a later workspace's first lane before another workspace's second", async () => {
    await plan(["a", "b", "c"], { workspace: "first" });
    await plan(["z"], { workspace: "later" });
    expect((await claim()).map(({ lane }) => lane.key)).to.deep.equal(["a", "z", "b", "c"]);
  });

  it("lanes that wait after a failure or that others hold are not claimed", async () => {
    await plan(["failed", "busy"]);
    const [one] = (await claim()).filter(({ lane }) => lane.key === "failed");
    await end({ lane: one!.lane, next: { how: "retry", at: inMs(1_000) } });
    await plan(["failed", "busy"]);
    expect(await claim()).to.deep.equal([]);
    expect((await states()).map(({ state }) => state)).to.deep.equal(["claimed", "waiting"]);
  });

  it("an instance that lost the planning lease plans nothing", async () => {
    expect(await plan(["a"], { by: "former" }).catch((error) => error)).to.be.instanceOf(PlanMoved);
    expect(await states()).to.deep.equal([]);
  });

  it("a plan without lanes moves the position only for the planner that knows it", async () => {
    const stood = async () => (await work.rows("select planned from work.processes"))[0]!.planned;
    const movingOn = (from: number, to: number, by = holder) =>
      writePlan(
        work.database,
        { planned: [], from: new Map([["toyRule", from]]), position: to, ended: new Map() },
        { lease, holder: by },
      ).catch((error) => error);
    expect(await movingOn(0, 5)).to.equal(undefined);
    expect(await movingOn(5, 6, "former")).to.be.instanceOf(PlanMoved);
    expect(await movingOn(0, 7)).to.be.instanceOf(PlanMoved);
    expect(await stood()).to.equal(5);
  });

  const timer = (name: string, ms: number) => ({ set: { key: "a", name, dueAt: inMs(ms), payload: {} } });
  const obstacle = "workspace-1";
  const waits = [
    {
      until: "its time arrives",
      next: { how: "go on" },
      wake: (tx: Sql) => makeDueLanesReady(tx, { now: inMs(20), takesOver: false }),
    },
    {
      until: "its obstacle ends",
      next: { how: "set aside", obstacles: [{ stream: obstacle, revision: 1 }] },
      async wake(tx: Sql) {
        await tx.query("update work.tags set wake_before = nextval('work.places') where stream = $1", [obstacle]);
        await wakeLanesOfEndedObstacles(tx);
      },
    },
    {
      until: "it is tried again",
      next: { how: "set aside", obstacles: [{ stream: obstacle, revision: 1 }] },
      async wake(tx: Sql) {
        await markForRetry(tx, inMs(retryEveryMs));
        await wakeLanesOfEndedObstacles(tx);
      },
    },
  ] as const;
  for (const { until, next, wake } of waits)
    it(`a lane has what is planned at the moment at which ${until}, and nothing that was done then`, async () => {
      await plan(["a"]);
      const [first] = await claim();
      await end({ lane: first!.lane, done: first!.items[0]!.id, timers: [timer("one", 10)], next });
      let planning: ReturnType<typeof plan> | undefined;
      await work.database.transaction(async (tx) => {
        // The lane is woken, completed, and waits for another timer.
        await wake(tx);
        const [again] = await claim(within(tx), inMs(20));
        await end(
          { lane: again!.lane, done: again!.items[0]!.id, timers: [timer("two", 30)], next: { how: "go on" } },
          within(tx),
        );
        planning = plan(["a"]);
        await eventually(work.waitsForLock);
      });
      await planning;
      expect((await claim()).map(briefly)).to.deep.equal([["a", 2]]);
    });

  it("a lane is ready again if events arrived while it was claimed, after lanes that were ready before", async () => {
    await plan(["a"]);
    const [{ lane, items }] = (await claim()) as [ClaimedLane];
    await plan(["a", "a"]);
    await plan(["b"]);
    expect(await end({ lane, done: items[0]!.id, next: { how: "go on" } })).to.deep.equal({
      held: new Set([lane.claim]),
      ready: true,
    });
    const late = await end({ lane, next: { how: "go on" } });
    expect(late).to.deep.equal({ held: new Set(), ready: false });
    expect((await claim()).map(briefly)).to.deep.equal([
      ["b", 4],
      ["a", 2, 3],
    ]);
  });

  it("a lane is ready again for a due timer that its last ending set, and not for cancelled ones", async () => {
    await plan(["a"]);
    const [{ lane, items }] = (await claim()) as [ClaimedLane];
    const set = (name: string, dueAt = now) => ({ set: { key: "a", name, dueAt, payload: { text: "\u0000" } } });
    const timers = [set("again"), set("never"), { cancel: "a", name: "never" }, set("later", inMs(5))];
    await end({ lane, done: items[0]!.id, timers, next: { how: "go on" } });
    const first = await claim();
    expect(first.map(briefly)).to.deep.equal([["a", "again"]]);
    // The handler sets its timer again: another timer with the same name.
    const [own] = first as [ClaimedLane];
    const ending = { lane: own.lane, done: own.items[0]!.id, timers: [set("again", inMs(7))] };
    expect((await end({ ...ending, next: { how: "go on" } })).ready).to.equal(false);
    expect(await work.rows("select timer, due_at from work.items order by due_at")).to.deep.equal([
      { timer: "later", due_at: inMs(5) },
      { timer: "again", due_at: inMs(7) },
    ]);
    expect(await work.rows("select state, due_at from work.lanes")).to.deep.equal([
      { state: "waiting", due_at: inMs(5) },
    ]);
  });

  it("a lane has what is planned while another lane sets a timer under its key, and that timer", async () => {
    await plan(["other"]);
    const [other] = (await claim()) as [ClaimedLane];
    const timers = [{ set: { key: "a", name: "alarm", dueAt: now, payload: {} } }];
    let planning: ReturnType<typeof plan> | undefined;
    await work.database.transaction(async (tx) => {
      await end({ lane: other.lane, done: other.items[0]!.id, timers, next: { how: "go on" } }, within(tx));
      planning = plan(["a"]);
      await eventually(work.waitsForLock);
    });
    await planning;
    expect((await claim()).map(briefly)).to.deep.equal([["a", 2, "alarm"]]);
  });

  /** Claims ready lanes; before the claim finds any, `other` runs. */
  async function claimBeside(other: () => Promise<unknown>): Promise<ClaimedLane> {
    const number = 77;
    const held: DatabaseRole = {
      ...work.database,
      transaction: (inner) =>
        work.database.transaction((tx) =>
          inner({
            query: (text, values) =>
              tx.query(text.replace("from json", `from pg_advisory_xact_lock(${number}), json`), values),
          }),
        ),
    };
    let claiming: ReturnType<typeof claim> | undefined;
    await work.database.transaction(async (tx) => {
      await tx.query("select pg_advisory_xact_lock($1)", [number]);
      claiming = claim(held);
      await eventually(work.waitsForLock);
      await other();
    });
    const [taken] = (await claiming) as [ClaimedLane];
    return taken;
  }

  it("a lane is not set aside for an event that was planned during the search for it", async () => {
    await plan(["a"]);
    const looked = await claimBeside(() => plan(["a"]));
    await plan(["a"]);
    await end({ lane: looked.lane, next: { how: "set aside", obstacles: [] } });
    expect((await claim()).map(briefly)).to.deep.equal([["a", 1, 2, 3]]);
  });

  it("a claim does not repeat what another did during the search for it", async () => {
    await plan(["a", "a"]);
    const looked = await claimBeside(async () => {
      const [other] = (await claim()) as [ClaimedLane];
      await end({ lane: other.lane, done: other.items[0]!.id, next: { how: "go on" } });
    });
    expect(briefly(looked)).to.deep.equal(["a", 2]);
  });

  it("lanes are ended together, all or none, and a failed ending is tried again", async () => {
    await plan(["a", "b"]);
    const [a, b] = (await claim()) as [ClaimedLane, ClaimedLane];
    await plan(["a"]);
    const faulty = faultyDatabase(work.database);
    let ready = 0;
    const endings = createCompletionQueue({
      ...{ database: faulty.database, clock: systemClock, log: quietLog(), backoff: () => 1 },
      onReady: () => void ready++,
    });
    faulty.failAt("with ended as", "40001");
    const timers = [{ set: { key: "c", name: "alarm", dueAt: inMs(5), payload: {} } }];
    const stored = await Promise.all([
      endings.add({ lane: a.lane, done: a.items[0]!.id, next: { how: "go on" } }),
      endings.add({ lane: b.lane, done: b.items[0]!.id, timers, next: { how: "go on" } }),
    ]);
    await endings.close();
    expect([stored, ready]).to.deep.equal([[true, true], 1]);
    expect((await states()).map(({ key, state }) => [key, state])).to.deep.equal([
      ["a", "ready"],
      ["c", "waiting"],
    ]);
    expect((await claim()).map(briefly)).to.deep.equal([["a", 3]]);
  });
});
