import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { systemClock } from "#src/clock.ts";
import type { Sql } from "#src/postgres/database.ts";
import { takeLeases } from "#src/subscriptions/leases.ts";
import { createEndings } from "#src/work/endingBatches.ts";
import { type Ending, recordEndings } from "#src/work/endings.ts";
import { isEventItem } from "#src/work/items.ts";
import { bringBackLanes, claimLanes, type Taken } from "#src/work/lanes.ts";
import { PlanMoved, writePlan } from "#src/work/plan.ts";
import { tryEveryMs, trySetAside, wakeEnded } from "#src/work/setAside.ts";
import type { Recorded } from "#streams/event.ts";
import { eventually, quietLog } from "../subscriptions/support.ts";
import { faultyDatabase } from "./faultyDatabase.ts";
import { useWorkTable } from "./support.ts";

const now = new Date("2026-01-01T00:00:00Z");
const inMs = (ms: number): Date => new Date(now.getTime() + ms);
const holder = "here";

/** Without a look for ready lanes in between. */
describe("lanes claimed with the plan, or with the ending, that makes them ready", () => {
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

  async function plan(keys: readonly string[], { room = ["toyRule"], workspace = "w", by = holder } = {}) {
    const from = position;
    const events = keys.map((key) => event(key, workspace));
    const planned = events.map((each) => ({ process: "toyRule", key: each.stream, event: each }));
    const { taken, ready } = await writePlan(
      work.database,
      { planned, from: new Map([["toyRule", from]]), position, ended: new Map(), now },
      { lease, holder: by, room },
    );
    return { taken: taken.map(briefly), ready, lanes: taken };
  }
  const briefly = ({ lane, items }: Taken) => [
    lane.key,
    ...items.map((item) => (isEventItem(item) ? item.position : item.timer.name)),
  ];
  const claim = (sql: Sql = work.database, at = now) =>
    claimLanes(sql, {
      rooms: [{ process: "toyRule", lanes: 9, share: 9, atWork: {} }],
      ...{ holder: "there", now: at },
    });
  const end = (ending: Ending, more: { holder?: string; sql?: Sql } = {}) => {
    const { sql = work.database, ...given } = more;
    return recordEndings({ ...sql, transaction: (inner) => inner(sql) }, [ending], { now, ...given });
  };
  const states = () => work.rows("select key, state, holder from work.lanes order by key");

  it("are held as any claim is, with their items in order, and the events that were just read", async () => {
    await plan(["a"], { room: [] });
    const [waiting] = await claim();
    const timer = { key: "a", name: "later", dueAt: inMs(60_000), payload: {} };
    await end({ lane: waiting!.lane, timers: [{ set: timer }], next: { how: "set aside", obstacles: [] } });
    const { taken, ready, lanes } = await plan(["b", "a", "b"]);
    expect(taken).to.deep.equal([
      ["a", 1, 3],
      ["b", 2, 4],
    ]);
    expect(ready).to.equal(false);
    expect(lanes[0]!.items.map((item) => "event" in item && item.event?.position)).to.deep.equal(
      [undefined, 3].map((at) => at ?? false),
    );
    expect(await claim()).to.deep.equal([]);
    expect(await work.rows("select turn from work.turns where workspace = '*'")).to.deep.equal([{ turn: 3 }]);
    for (const { lane } of lanes) expect((await end({ lane, next: { how: "go on" } })).held.size).to.equal(1);
    expect((await claim()).map(briefly)).to.deep.equal(taken);
  });

  it("are none where others of the process are ready: those come first", async () => {
    await plan(["first"], { room: [] });
    expect(await plan(["second"])).to.deep.include({ taken: [], ready: true });
    expect((await claim()).map(briefly)).to.deep.equal([
      ["first", 1],
      ["second", 2],
    ]);
  });

  it("are in the order of their turns: of a workspace that comes later, too, the first comes before the second of another", async () => {
    await plan(["a", "b", "c"], { room: [], workspace: "first" });
    await plan(["z"], { room: [], workspace: "later" });
    const order = await work.rows("select key from work.lanes order by turn, key");
    expect(order.map(({ key }) => key)).to.deep.equal(["a", "z", "b", "c"]);
  });

  it("are none that wait after a failure, or that others have", async () => {
    await plan(["failed", "busy"], { room: [] });
    const [one] = await claim();
    await end({ lane: one!.lane, next: { how: "retry", at: inMs(1_000) } });
    const { taken } = await plan(["failed", "busy"]);
    expect(taken).to.deep.equal([]);
    expect((await states()).map(({ state }) => state).sort()).to.deep.equal(["claimed", "waiting"]);
  });

  it("are none for one who does not plan any more", async () => {
    const failed = await plan(["a"], { by: "former" }).catch((error) => error);
    expect(failed).to.be.instanceOf(PlanMoved);
    expect(await states()).to.deep.equal([]);
  });

  it("need not be there: the plan moves on, for who plans and knows where it stands alone", async () => {
    const stood = async () => (await work.rows("select planned from work.processes"))[0]!.planned;
    const movingOn = (from: number, to: number, by = holder) =>
      writePlan(
        work.database,
        { planned: [], from: new Map([["toyRule", from]]), position: to, ended: new Map(), now },
        { lease, holder: by, room: [] },
      ).catch((error) => error);
    expect(await movingOn(0, 5)).to.deep.equal({ taken: [], ready: false });
    expect(await movingOn(5, 6, "former")).to.be.instanceOf(PlanMoved);
    expect(await movingOn(0, 7)).to.be.instanceOf(PlanMoved);
    expect(await stood()).to.equal(5);
  });

  const timer = (name: string, ms: number) => ({ set: { key: "a", name, dueAt: inMs(ms), payload: {} } });
  const obstacle = "workspace-1";
  const waits = [
    {
      until: "its time has come",
      next: { how: "go on" },
      wake: (tx: Sql) => bringBackLanes(tx, { now: inMs(20), takesOver: false }),
    },
    {
      until: "what stood in its way has ended",
      next: { how: "set aside", obstacles: [{ stream: obstacle, revision: 1 }] },
      async wake(tx: Sql) {
        await tx.query("update work.tags set wake_before = nextval('work.places') where stream = $1", [obstacle]);
        await wakeEnded(tx);
      },
    },
    {
      until: "it is tried whether that has ended",
      next: { how: "set aside", obstacles: [{ stream: obstacle, revision: 1 }] },
      wake: (tx: Sql) => trySetAside({ ...tx, transaction: (inner) => inner(tx) }, inMs(tryEveryMs)),
    },
  ] as const;
  for (const { until, next, wake } of waits)
    it(`are none that changed since the plan was begun, because ${until}: what it has to do then is not known`, async () => {
      await plan(["a"], { room: [] });
      const [first] = await claim();
      await end({ lane: first!.lane, done: first!.items[0]!.id, timers: [timer("one", 10)], next });
      let planning: ReturnType<typeof plan> | undefined;
      await work.database.transaction(async (tx) => {
        // It is brought back, done with, and waits for another timer.
        await wake(tx);
        const [again] = await claim(tx, inMs(20));
        await end(
          { lane: again!.lane, done: again!.items[0]!.id, timers: [timer("two", 30)], next: { how: "go on" } },
          { sql: tx },
        );
        planning = plan(["a"]);
        await eventually(work.waitsForLock);
      });
      expect(await planning).to.deep.include({ taken: [], ready: true });
      expect((await claim()).map(briefly)).to.deep.equal([["a", 2]]);
    });

  it("go on with what came while they were claimed, under a new claim, unless others are ready", async () => {
    const { lanes } = await plan(["a"]);
    await plan(["a", "a"]);
    const [{ lane, items }] = lanes as [Taken];
    const { taken, readyAgain, held } = await end({ lane, done: items[0]!.id, next: { how: "go on" } }, { holder });
    expect(taken.map(briefly)).to.deep.equal([["a", 2, 3]]);
    expect([...held, readyAgain]).to.deep.equal([lane.claim, false]);
    expect(taken[0]!.lane.claim).to.not.equal(lane.claim);
    const late = await end({ lane, next: { how: "go on" } });
    expect(late.held.has(lane.claim)).to.equal(false);
    await plan(["b"], { room: [] });
    const again = await end({ lane: taken[0]!.lane, done: taken[0]!.items[0]!.id, next: { how: "go on" } }, { holder });
    expect(again.taken).to.deep.equal([]);
    expect((await claim()).map(briefly)).to.deep.equal([
      ["b", 4],
      ["a", 3],
    ]);
  });

  it("go on with a timer that their last word has set, and that is due, and not with those it has cancelled", async () => {
    const { lanes } = await plan(["a"]);
    const [{ lane, items }] = lanes as [Taken];
    const set = (name: string, dueAt = now) => ({ set: { key: "a", name, dueAt, payload: { text: "\u0000" } } });
    const timers = [set("again"), set("never"), { cancel: "a", name: "never" }, set("later", inMs(5))];
    const first = await end({ lane, done: items[0]!.id, timers, next: { how: "go on" } }, { holder });
    expect(first.taken.map(briefly)).to.deep.equal([["a", "again"]]);
    // It sets itself again: another timer of the same name.
    const [own] = first.taken as [Taken];
    const ending = { lane: own.lane, done: own.items[0]!.id, timers: [set("again", inMs(7))] };
    await end({ ...ending, next: { how: "go on" } }, { holder });
    expect(await work.rows("select timer, due_at from work.items order by due_at")).to.deep.equal([
      { timer: "later", due_at: inMs(5) },
      { timer: "again", due_at: inMs(7) },
    ]);
    expect(await work.rows("select state, due_at from work.lanes")).to.deep.equal([
      { state: "waiting", due_at: inMs(5) },
    ]);
  });

  it("are none that another lane's timer has made since the plan was begun", async () => {
    const [other] = (await plan(["other"])).lanes as [Taken];
    const timers = [{ set: { key: "a", name: "alarm", dueAt: now, payload: {} } }];
    let planning: ReturnType<typeof plan> | undefined;
    await work.database.transaction(async (tx) => {
      await end({ lane: other.lane, done: other.items[0]!.id, timers, next: { how: "go on" } }, { sql: tx });
      planning = plan(["a"]);
      await eventually(work.waitsForLock);
    });
    expect(await planning).to.deep.include({ taken: [], ready: true });
    expect((await claim()).map(briefly)).to.deep.equal([["a", 2, "alarm"]]);
  });

  /** Looks for ready lanes, and before it finds any something else happens. */
  async function claimBeside(other: () => Promise<unknown>): Promise<Taken> {
    const number = 77;
    const held: Sql = {
      query: (text, values) =>
        work.database.query(text.replace("from json", `from pg_advisory_xact_lock(${number}), json`), values),
    };
    let claiming: ReturnType<typeof claim> | undefined;
    await work.database.transaction(async (tx) => {
      await tx.query("select pg_advisory_xact_lock($1)", [number]);
      claiming = claim(held);
      await eventually(work.waitsForLock);
      await other();
    });
    const [taken] = (await claiming) as [Taken];
    return taken;
  }

  it("are not set aside over an event that was planned while they were looked for", async () => {
    await plan(["a"], { room: [] });
    const looked = await claimBeside(() => plan(["a"], { room: [] }));
    expect(briefly(looked)).to.deep.equal(["a", 1]);
    await end({ lane: looked.lane, next: { how: "set aside", obstacles: [] } });
    expect((await claim()).map(briefly)).to.deep.equal([["a", 1, 2]]);
  });

  it("do not do again what another did while they were looked for", async () => {
    await plan(["a", "a"], { room: [] });
    const looked = await claimBeside(async () => {
      const [other] = (await claim()) as [Taken];
      await end({ lane: other.lane, done: other.items[0]!.id, next: { how: "go on" } });
    });
    expect(briefly(looked)).to.deep.equal(["a"]);
    const { taken } = await end({ lane: looked.lane, next: { how: "go on" } }, { holder });
    expect(taken.map(briefly)).to.deep.equal([["a", 2]]);
  });

  it("go on also where others that are recorded with them have to be tried again", async () => {
    const [a, b] = (await plan(["a", "b"])).lanes as [Taken, Taken];
    await plan(["a"]);
    const faulty = faultyDatabase(work.database);
    const taken: Taken[] = [];
    const endings = createEndings({
      ...{ database: faulty.database, clock: systemClock, log: quietLog(), backoff: () => 1 },
      ...{ onReady: () => {}, goesOn: () => holder, onTaken: (each) => void taken.push(each) },
    });
    faulty.failAt("idle_in_transaction", "40001");
    const timers = [{ set: { key: "c", name: "alarm", dueAt: inMs(5), payload: {} } }];
    const stored = await Promise.all([
      endings.add({ lane: a.lane, done: a.items[0]!.id, next: { how: "go on" } }),
      endings.add({ lane: b.lane, done: b.items[0]!.id, timers, next: { how: "go on" } }),
    ]);
    await endings.close();
    expect(stored).to.deep.equal([true, true]);
    expect(taken.map(briefly)).to.deep.equal([["a", 3]]);
    expect((await states()).map(({ key, state }) => [key, state])).to.deep.equal([
      ["a", "claimed"],
      ["c", "waiting"],
    ]);
  });
});
