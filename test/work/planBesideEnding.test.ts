import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "chai";
import type { Role, Sql } from "#src/postgres/database.ts";
import { takeLeases } from "#src/subscriptions/leases.ts";
import { type Next, recordEndings } from "#src/work/endings.ts";
import { isEventItem } from "#src/work/items.ts";
import { bringBackLanes, claimLanes } from "#src/work/lanes.ts";
import { writePlan } from "#src/work/plan.ts";
import type { Recorded } from "#streams/event.ts";
import { useWorkTable } from "./support.ts";

const now = new Date("2026-01-01T00:00:00Z");
const obstacle = "workspace-11111111-1111-7111-8111-111111111111";
const endings: readonly Next[] = [
  { how: "go on" },
  { how: "retry", at: new Date(now.getTime() + 1_000) },
  { how: "set aside", obstacles: [{ stream: obstacle, revision: 3 }] },
];

/** A lane's claim ends, and in the same moment an event for it, or the end of what stands in its way, is planned. */
describe("planning beside an ending", () => {
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
  const within = (tx: Sql): Role => ({ ...tx, transaction: (inner) => inner(tx) });

  it("forgets nothing, whichever is first, and whether or not the first is cut off: each ending, each wake-up", async () => {
    const holder = "here";
    const [lease] = await takeLeases(work.database, ["planner"], { holder, lastsMs: 600_000 });
    await work.database.query("insert into work.processes (name, planned) values ('toyRule', 0)");
    let position = 0;
    const plan = async (sql: Role, from: number, events: readonly Recorded[]): Promise<void> => {
      const planned = events
        .filter(({ stream }) => stream.startsWith("toy-"))
        .map((each) => ({ process: "toyRule", key: each.stream, event: each }));
      const moved = new Map(
        events.filter(({ stream }) => stream === obstacle).map((each) => [each.stream, each.revision]),
      );
      const to = events.at(-1)!.position;
      await writePlan(
        sql,
        { planned, from: new Map([["toyRule", from]]), position: to, moved, now },
        { lease: lease!, holder },
      );
    };
    const claim = () =>
      claimLanes(work.database, { rooms: [{ process: "toyRule", lanes: 5, share: 5, atWork: {} }], holder, now });

    for (const next of endings) {
      for (const wakes of ["its key", "the obstacle"] as const) {
        for (const first of ["the plan", "the ending"] as const) {
          for (const cutOff of [false, true]) {
            const said = `${next.how}, ${wakes}, ${first} first${cutOff ? ", cut off" : ""}`;
            const key = `toy-${randomUUID()}`;
            await plan(work.database, position, [event(key, ++position)]);
            const [claimed] = await claim();
            const from = position;
            const woken = event(wakes === "its key" ? key : obstacle, ++position);
            const planning = (sql: Role) => plan(sql, from, [woken]);
            const ending = async (sql: Role) => {
              await recordEndings(sql, [{ lane: claimed!.lane, next }], now);
            };
            const [one, other] = first === "the plan" ? [planning, ending] : [ending, planning];
            let beside: Promise<void> = Promise.resolve();
            const held = work.database
              .transaction(async (tx) => {
                await one(within(tx));
                beside = other(work.database);
                // It waits for the first one, or does not touch what that holds.
                await Promise.race([beside, sleep(15)]);
                if (cutOff) throw new Error("killed");
              })
              .catch((error) => expect(error.message).to.equal("killed"));
            await held;
            await beside;
            // What was cut off is done again: a plan by whoever plans now, an ending when the claim has run out.
            if (cutOff && first === "the plan") await planning(work.database);
            if (cutOff && first === "the ending") {
              await work.database.query("update work.lanes set claimed_until = '-infinity' where state = 'claimed'");
              await bringBackLanes(work.database, { now, takesOver: true });
            }
            if (next.how === "retry")
              await bringBackLanes(work.database, { now: new Date(now.getTime() + 1_000), takesOver: false });
            const again = await claim();
            expect(
              again.map(({ lane }) => lane.key),
              said,
            ).to.deep.equal([key]);
            expect(
              again[0]!.items.filter(isEventItem).map((item) => item.position),
              said,
            ).to.deep.equal(wakes === "its key" ? [from, woken.position] : [from]);
            for (const item of again[0]!.items)
              await recordEndings(work.database, [{ lane: again[0]!.lane, done: item.id }], now);
            await recordEndings(work.database, [{ lane: again[0]!.lane, next: { how: "go on" } }], now);
            expect(await work.rows("select * from work.lanes"), said).to.deep.equal([]);
          }
        }
      }
    }
  });
});
