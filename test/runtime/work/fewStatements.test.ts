import { expect } from "chai";
import type { BackgroundDatabase, Sql } from "#src/platform/postgres/database.ts";
import { eventually } from "../projections/support.ts";
import { faultyDatabase } from "./faultyDatabase.ts";
import { rule, useWorkTable } from "./support.ts";

const looksForReady = "set state = 'claimed'";
const looksAround = "as tried";
const plans = "insert into work.items";

describe("the statements of an instance that plans and works", () => {
  const work = useWorkTable();

  /** Wraps the database and records the statements. */
  function listening(): { database: BackgroundDatabase; asked: string[] } {
    const asked: string[] = [];
    const through = (sql: Sql): Sql => ({
      query: (text, values) => {
        asked.push(text);
        return sql.query(text, values);
      },
    });
    const { database } = work;
    const transaction: BackgroundDatabase["transaction"] = (inner) => database.transaction((tx) => inner(through(tx)));
    return { database: { ...database, ...through(database), transaction }, asked };
  }

  it("an instance claims what it plans at once, and searches ready lanes only if there are some", async () => {
    const { database, asked } = listening();
    const seen: number[] = [];
    const process = rule({
      on: {
        Happened: async ({ data }) => {
          seen.push(data.number);
        },
      },
    });
    const runner = work.run([process], { database });
    await runner.idle();
    const count = (text: string) => asked.filter((each) => each.includes(text)).length;
    const looks = count(looksAround);
    await work.happen("toy-a", 1, 2);
    await work.happen("toy-b", 3);
    await runner.idle();
    await eventually(async () => count(looksAround) >= looks + 3);
    expect(seen).to.have.members([1, 2, 3]);
    expect(count(plans)).to.be.at.least(1);
    expect(count(looksForReady)).to.be.within(1, count(plans) + 1);
    expect(count("with due as")).to.equal(0);
    expect(count("with wanted as")).to.equal(0);
  });

  it("an instance works on no more lanes than it has room for, however many a plan makes ready", async () => {
    let atWork = 0;
    let most = 0;
    let handled = 0;
    const process = rule({
      concurrency: 4,
      on: {
        Happened: async () => {
          atWork += 1;
          most = Math.max(most, atWork);
          await new Promise((resolve) => setTimeout(resolve, 2));
          atWork -= 1;
          handled += 1;
        },
      },
    });
    const runner = work.run([process]);
    const streams = Array.from({ length: 8 }, (_, n) => `toy-${n}`);
    for (let n = 0; n < 10; n++) await Promise.all(streams.map((stream) => work.happen(stream, n)));
    await runner.idle();
    expect(handled).to.equal(80);
    expect(most).to.be.within(2, 4);
  });

  it("an instance gives back what it claims at the moment in which it stops", async () => {
    const faulty = faultyDatabase(work.database);
    const seen: string[] = [];
    const process = (by: string) =>
      rule({
        on: {
          Happened: async () => {
            seen.push(by);
          },
        },
      });
    const first = work.run([process("first")], { database: faulty.database });
    await first.idle();
    const claimed = faulty.stopAt(looksForReady, "after");
    await work.happen("toy-a", 1);
    await claimed;
    const stopped = first.stop();
    faulty.goOn();
    await stopped;
    expect(await work.rows("select key, state from work.lanes")).to.deep.equal([{ key: "toy-a", state: "ready" }]);
    await work.run([process("second")]).idle();
    expect(seen).to.deep.equal(["second"]);
  });

  it("an instance searches due lanes also while it brings back parked ones", async () => {
    let fired = 0;
    const process = rule({
      on: { Happened: ({ stream }, { timers }) => timers.set({ key: stream, name: "alarm", inMs: 500 }) },
      onTimer: async () => {
        fired += 1;
      },
    });
    await work.run([process]).idle();
    await work.database.query(
      `insert into work.lanes (process, key, workspace, state, due_at) values ('toyRule', 'toy-parked', '', 'waiting', 'infinity')`,
    );
    await work.database.transaction(async (tx) => {
      await tx.query("select from work.lanes for update");
      await work.database.query(
        `insert into work.parked (process, key, position, item, error, tries, parked_at, retry_requested_at)
         values ('toyRule', 'toy-parked', 0, '{"stream": "toy-parked", "revision": 0}', 'broken', 5, now(), now())`,
      );
      await eventually(work.waitsForLock);
      await work.happen("toy-a", 1);
      await eventually(() => fired > 0);
      // The instance has not given up waiting in between.
      expect(work.said.map(({ message }) => message)).to.not.include("cannot look for what is due, retrying");
      await tx.query("delete from work.lanes where key = 'toy-parked'");
    });
  });
});
