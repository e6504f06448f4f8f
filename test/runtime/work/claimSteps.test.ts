import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "chai";
import type { Process } from "#src/processes/process.ts";
import { adjustableClock } from "#test/support/adjustableClock.ts";
import { faultyDatabase } from "./faultyDatabase.ts";
import { rule, useWorkTable } from "./support.ts";

const plan = "insert into work.items";
const claim = "set state = 'claimed'";
const ending = "select case when state = 'claimed' then claim";
const ended = "with ended as";
const inSteps = "insert into work.tags";

type Step = { name: string; at?: [text: string, when: "before" | "after"]; aside?: boolean };

/** Points at which one instance is interrupted: before or after a statement, within a transaction, or within a handler. */
const steps: readonly Step[] = [
  { name: "before the items of a plan are written", at: [plan, "before"] },
  { name: "before the lanes of a plan are woken", at: [plan, "after"] },
  { name: "before a lane is claimed", at: [claim, "before"] },
  { name: "after a lane was claimed", at: [claim, "after"] },
  { name: "while a handler runs" },
  { name: "before an ending is stored", at: [ending, "before"] },
  { name: "in the middle of an ending", at: [ending, "after"] },
  { name: "before an ending is committed", at: [ended, "after"] },
  { name: "within the transaction of one that is set aside", at: [inSteps, "after"], aside: true },
];

describe("an instance that is cut off at any step of a claim", () => {
  const work = useWorkTable();
  const { rows, happen } = work;

  for (const how of ["killed", "stopped"] as const) {
    it(`after an instance is ${how === "killed" ? how : "stopped, and goes on later"} another does all of it, in order, and nothing is left behind`, async () => {
      for (const [number, step] of steps.entries()) await cutOff(step, { how, name: `rule${number}` });
    });
  }

  async function cutOff(step: Step, { how, name }: { how: "killed" | "stopped"; name: string }): Promise<void> {
    const { at, aside = false } = step;
    const faulty = faultyDatabase(work.database);
    const seen: { by: string; stream: string; number: number }[] = [];
    const [a, b] = [`${name}-a`, `${name}-b`];
    let inHandler: (() => void) | undefined;
    let wasAside = !aside;
    const ruleOf = (by: string): Process =>
      rule({
        name,
        categories: [name],
        on: {
          Happened: async ({ stream, data }) => {
            if (by === "first" && inHandler) {
              inHandler();
              inHandler = undefined;
              await faulty.stop();
              if (how === "killed") throw new Error("it is dead");
            }
            if (!wasAside) {
              wasAside = true;
              // An obstacle that has already ended: the lane is ready immediately.
              return { setAside: [{ stream: "workspace-1", revision: -2 }] };
            }
            seen.push({ by, stream, number: data.number });
            return undefined;
          },
        },
      });
    const clock = adjustableClock();
    const cut = at
      ? faulty.stopAt(at[0], at[1])
      : new Promise<void>((resolve) => {
          inHandler = resolve;
        });
    await happen(a, 1, 2);
    await happen(b, 1);
    const first = work.run([ruleOf("first")], { database: faulty.database, clock });
    await cut;
    if (how === "killed") faulty.die();
    await work.database.query("update work.leases set expires_at = '-infinity'");
    await work.database.query("update work.lanes set claimed_until = '-infinity' where state = 'claimed'");
    await happen(a, 3);
    const second = work.run([ruleOf("second")]);
    const beganAt = performance.now();
    await second.idle();
    // The locks of an instance that is suspended within a transaction last 2 s; without that setting they would last 60 s, as on other
    // connections.
    expect(performance.now() - beganAt, step.name).to.be.below(30_000);
    if (how === "stopped") {
      clock.advance(20_000);
      faulty.goOn();
      await happen(b, 2);
      await second.idle();
      await sleep(20);
    }
    const of = (stream: string) => seen.filter((each) => each.stream === stream).map(({ number }) => number);
    expect([...new Set(of(a))], step.name).to.deep.equal([1, 2, 3]);
    expect([...new Set(of(b))], step.name).to.deep.equal(how === "killed" ? [1] : [1, 2]);
    // The claims of the suspended instance have expired: it begins none of their items.
    if (how === "stopped" && at?.[0] === claim)
      expect(seen.filter(({ by, stream }) => by === "first" && stream === a)).to.deep.equal([]);
    // Items are handled at least once: an item that the interrupted instance had handled is repeated if that was not recorded.
    const again = seen.length - new Set(seen.map(({ stream, number }) => `${stream} ${number}`)).size;
    expect(again, step.name).to.be.at.most(3);
    for (const table of ["items", "lanes", "parked"])
      expect(await rows(`select 1 from work.${table}`), `${step.name}: ${table}`).to.deep.equal([]);
    await Promise.all([first.stop(), second.stop()]);
  }
});
