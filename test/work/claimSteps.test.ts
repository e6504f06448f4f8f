import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "chai";
import { systemClock } from "#src/clock.ts";
import type { Process } from "#src/processes/process.ts";
import { type FaultyDatabase, faultyDatabase } from "./faultyDatabase.ts";
import { rule, useWorkTable } from "./support.ts";

const plan = "moved_on as";
const claim = "set state = 'claimed'";
const ending = "with said as";
const inSteps = "update work.items item";

/** Where one instance is cut off: before or after a statement of it was carried out, within a transaction, or within a handler. */
const steps = [
  { name: "before a plan is written", at: [plan, "before"] },
  { name: "after a plan was written", at: [plan, "after"] },
  { name: "before a lane is claimed", at: [claim, "before"] },
  { name: "after a lane was claimed", at: [claim, "after"] },
  { name: "while a handler runs", at: undefined },
  { name: "before an ending is stored", at: [ending, "before"] },
  { name: "after an ending was stored", at: [ending, "after"] },
  { name: "within the transaction of a failure", at: [inSteps, "after"], fails: true },
] as const;

describe("an instance that is cut off", () => {
  const work = useWorkTable();
  const { rows, happen } = work;
  const broken: FaultyDatabase[] = [];
  // Before the runners are stopped, which waits for what they have begun.
  afterEach(() => {
    for (const each of broken.splice(0)) each.die();
  });

  for (const { name, at, ...step } of steps) {
    for (const how of ["killed", "stopped and continued"] as const) {
      it(`${name}, ${how}: another does all of it, in order, and nothing is left behind`, async () => {
        const faulty = faultyDatabase(work.database);
        broken.push(faulty);
        const seen: { by: string; stream: string; number: number }[] = [];
        let inHandler: (() => void) | undefined;
        let failed = !("fails" in step);
        const ruleOf = (by: string): Process =>
          rule({
            on: {
              Happened: async ({ stream, data }) => {
                if (by === "first" && inHandler) {
                  inHandler();
                  inHandler = undefined;
                  await faulty.stop();
                  if (how === "killed") throw new Error("it is dead");
                }
                if (!failed) {
                  failed = true;
                  throw new Error("once");
                }
                seen.push({ by, stream, number: data.number });
              },
            },
          });
        let silentMs = 0;
        const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + silentMs };
        const cutOff = at
          ? faulty.stopAt(at[0], at[1])
          : new Promise<void>((resolve) => {
              inHandler = resolve;
            });
        await happen("toy-a", 1, 2);
        await happen("toy-b", 1);
        work.run([ruleOf("first")], { database: faulty.database, clock });
        await cutOff;
        if (how === "killed") faulty.die();
        await work.database.query("update work.leases set expires_at = '-infinity'");
        await work.database.query("update work.lanes set claimed_until = '-infinity' where state = 'claimed'");
        await happen("toy-a", 3);
        const second = work.run([ruleOf("second")]);
        await second.idle();
        if (how !== "killed") {
          silentMs = 20_000;
          faulty.goOn();
          await happen("toy-b", 2);
          await second.idle();
          await sleep(20);
        }
        const of = (stream: string) => seen.filter((each) => each.stream === stream).map(({ number }) => number);
        expect(inOrderOfFirst(of("toy-a"))).to.deep.equal([1, 2, 3]);
        expect(inOrderOfFirst(of("toy-b"))).to.deep.equal(how === "killed" ? [1] : [1, 2]);
        // At least once: what it had done of its turn comes again, where nobody could know.
        const again = seen.length - new Set(seen.map(({ stream, number }) => `${stream} ${number}`)).size;
        expect(again).to.be.at.most(at === undefined ? 2 : 3);
        expect(await rows("select 1 from work.items union all select 1 from work.lanes")).to.deep.equal([]);
        expect(await rows("select 1 from work.parked")).to.deep.equal([]);
      });
    }
  }
});

const inOrderOfFirst = (numbers: readonly number[]): number[] => [...new Set(numbers)];
