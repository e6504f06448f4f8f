import { randomUUID } from "node:crypto";
import { expect } from "chai";
import type { DatabaseRole, Sql } from "#src/platform/postgres/database.ts";
import { takeLeases } from "#src/runtime/projections/leases.ts";
import type { Completion } from "#src/runtime/work/completion.ts";
import { recordCompletions } from "#src/runtime/work/completions.ts";
import { isEventItem } from "#src/runtime/work/items.ts";
import { claimLanes, makeDueLanesReady } from "#src/runtime/work/lanes.ts";
import { unparkItems } from "#src/runtime/work/parked.ts";
import { writePlan } from "#src/runtime/work/plan.ts";
import { wakeLanesOfEndedObstacles } from "#src/runtime/work/setAside.ts";
import type { Recorded } from "#streams/event.ts";
import { eventually } from "../projections/support.ts";
import { useWorkTable } from "./support.ts";

const now = new Date("2026-01-01T00:00:00Z");
const obstacle = "workspace-11111111-1111-7111-8111-111111111111";
/** Ways in which a claim ends. `done`: the lane's item is done, so that only a wake-up brings the lane back. */
const endings: readonly { name: string; next: Completion["next"] & object; done?: true }[] = [
  { name: "done", next: { how: "go on" }, done: true },
  { name: "go on", next: { how: "go on" } },
  { name: "retry", next: { how: "retry", at: new Date(now.getTime() + 1_000) } },
  { name: "set aside", next: { how: "set aside", obstacles: [] } },
];

/** A lane's claim ends at the same moment as an event wakes the lane. */
describe("a wake-up at the same time as an ending", () => {
  const work = useWorkTable();

  const event = (stream: string, position: number): Recorded => ({
    ...{ type: "Happened", data: {}, id: randomUUID(), schemaVersion: 1, stream, revision: position, position },
    metadata: {
      workspaceId: obstacle,
      actor: { kind: "system", id: "t" },
      correlationId: "c",
      causationId: "c",
      at: "",
    },
  });
  /** Runs inner transactions within this one. */
  const within = (tx: Sql): DatabaseRole => ({ ...tx, transaction: (inner) => inner(tx) });

  it("no order of an ending and a wake-up, cut off or not, forgets an item", async () => {
    const holder = "here";
    const [lease] = await takeLeases(work.database, ["planning"], { holder, lastsMs: 600_000 });
    await work.database.query("insert into work.processes (name, planned) values ('toyRule', 0)");
    let position = 0;
    const plan = async (sql: DatabaseRole, from: number, events: readonly Recorded[]): Promise<void> => {
      const planned = events
        .filter(({ stream }) => stream.startsWith("toy-"))
        .map((each) => ({ process: "toyRule", key: each.stream, event: each }));
      const ended = new Map(
        events.filter(({ stream }) => stream.startsWith("workspace-")).map((each) => [each.stream, each.revision]),
      );
      const to = events.at(-1)!.position;
      await writePlan(
        sql,
        { planned, from: new Map([["toyRule", from]]), position: to, ended },
        { lease: lease!, holder },
      );
    };
    const claim = () =>
      claimLanes(work.database, { rooms: [{ process: "toyRule", lanes: 5, share: 5, atWork: {} }], holder, now });

    const wakeUps: readonly WakeUp[] = [
      {
        name: "an event of its key",
        async prepare(key) {
          const [from, woken] = [position, event(key, ++position)];
          return { wake: (sql) => plan(sql, from, [woken]), brings: [woken.position] };
        },
      },
      {
        name: "the end of what stands in its way, and in that of others",
        async prepare() {
          // Simulates that another lane is already set aside under the stream: the row then does not change.
          await work.database.query("update work.tags set try_at = $2 where stream = $1", [obstacle, now]);
          const [from, woken] = [position, event(obstacle, ++position)];
          return { wake: (sql) => plan(sql, from, [woken]), brings: [] };
        },
      },
      {
        name: "the end of what stands in its way, of which nothing was planned before",
        async prepare() {
          const unknown = `workspace-${randomUUID()}`;
          const [from, woken] = [position, event(unknown, ++position)];
          return { wake: (sql) => plan(sql, from, [woken]), brings: [], ends: unknown };
        },
      },
      {
        name: "another try of what was parked",
        async prepare(key) {
          const parked = event(key, ++position);
          await plan(work.database, position - 1, [event(`other-${key}`, position)]);
          await work.database.query(
            `insert into work.parked (process, key, position, item, error, tries, parked_at, retry_requested_at)
             values ('toyRule', $1, $2, $3, 'broken', 5, $4, $4)`,
            [key, parked.position, JSON.stringify(parked), now],
          );
          return { wake: async (sql) => void (await unparkItems(sql)), brings: [parked.position] };
        },
      },
      {
        name: "a timer that another lane sets",
        async prepare(key) {
          await plan(work.database, position, [event(`toy-other-${key}`, ++position)]);
          const [other] = await claim();
          const set = { key, name: "alarm", dueAt: now, payload: {} };
          const ending = {
            lane: other!.lane,
            done: other!.items[0]!.id,
            timers: [{ set }],
            next: { how: "go on" },
          } as const;
          return { wake: async (sql) => void (await recordCompletions(sql, [ending], now)), brings: ["alarm"] };
        },
      },
    ];

    for (const given of endings) {
      for (const wakeUp of wakeUps) {
        for (const first of ["the wake-up", "the ending"] as const) {
          for (const cutOff of [false, true]) {
            const described = `${given.name}, ${wakeUp.name}, ${first} first${cutOff ? ", cut off" : ""}`;
            const key = `toy-${randomUUID()}`;
            await plan(work.database, position, [event(key, ++position)]);
            const own = position;
            const [claimed] = await claim();
            const { wake, brings, ends = obstacle } = await wakeUp.prepare(key);
            // The obstacle's revision is the newest one: an older revision would have ended it.
            const obstacles = [{ stream: ends, revision: own }];
            const next = given.next.how === "set aside" ? { ...given.next, obstacles } : given.next;
            const said = { lane: claimed!.lane, next, ...(given.done && { done: claimed!.items[0]!.id }) };
            const ending = async (sql: DatabaseRole) => void (await recordCompletions(sql, [said], now));
            const waited = await beside(first === "the wake-up" ? [wake, ending] : [ending, wake], cutOff);
            // The end of an obstacle under which no lane is set aside need not wait.
            expect(waited, described).to.equal(brings.length > 0 || next.how === "set aside");
            // The interrupted one is repeated: a wake-up by the next planner, an ending when the claim has expired.
            if (cutOff && first === "the wake-up") await wake(work.database);
            if (cutOff && first === "the ending") {
              await work.database.query("update work.lanes set claimed_until = '-infinity' where state = 'claimed'");
              await makeDueLanesReady(work.database, { now, takesOver: true });
            }
            const later = new Date(now.getTime() + (next.how === "retry" ? 1_000 : 0));
            await makeDueLanesReady(work.database, { now: later, takesOver: false });
            await wakeLanesOfEndedObstacles(work.database);
            const again = await claim();
            const isOver = given.done && !(cutOff && first === "the ending");
            const left = [...(isOver ? [] : [own]), ...brings];
            const found = again.map(({ lane, items }) => [
              lane.key,
              ...items.map((item) => (isEventItem(item) ? item.position : item.timer.name)),
            ]);
            expect(found, described).to.deep.equal(left.length > 0 ? [[key, ...left]] : []);
            for (const { lane, items } of again) {
              for (const item of items) await recordCompletions(work.database, [{ lane, done: item.id }], now);
              await recordCompletions(work.database, [{ lane, next: { how: "go on" } }], now);
            }
            expect(await work.rows("select * from work.lanes"), described).to.deep.equal([]);
          }
        }
      }
    }
  });

  /**
   * Runs both: the first holds its locks in a transaction while the other begins. `cutOff`: the first is rolled back. Returns true if the
   * other one waited for the first.
   */
  async function beside(
    [first, other]: readonly ((sql: DatabaseRole) => Promise<void>)[],
    cutOff: boolean,
  ): Promise<boolean> {
    let second: Promise<void> = Promise.resolve();
    let waited = false;
    await work.database
      .transaction(async (tx) => {
        await first!(within(tx));
        let over = false;
        second = other!(work.database).finally(() => {
          over = true;
        });
        // The other one waits for the first, or does not touch rows that the first has locked.
        await eventually(async () => {
          waited = await work.waitsForLock();
          return waited || over;
        });
        if (cutOff) throw new Error("killed");
      })
      .catch((error) => expect(error.message).to.equal("killed"));
    await second;
    return waited;
  }
});

/** An event or change that wakes a lane, the items that it adds to the lane, and the stream whose lanes it wakes. */
type WakeUp = {
  name: string;
  prepare(
    key: string,
  ): Promise<{ wake(sql: DatabaseRole): Promise<void>; brings: readonly (number | string)[]; ends?: string }>;
};
