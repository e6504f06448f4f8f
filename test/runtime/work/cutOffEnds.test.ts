import { expect } from "chai";
import { adjustableClock } from "#test/support/adjustableClock.ts";
import { inFull } from "#test/support/full.ts";
import { faultyDatabase } from "./faultyDatabase.ts";
import { rule, useWorkTable } from "./support.ts";

/** Statements that end an obstacle, in order. The first two are the transaction of the plan; each other one is a separate transaction. */
const statements = [
  { name: "the position of the plan", text: "update work.front" },
  { name: "the end of the obstacle", text: "as ended order by 1" },
  { name: "the waking of a page of lanes", text: "with ended as" },
  { name: "the note that all are woken", text: "set wake_before = null" },
];

/** A lane that is set aside is woken only by the plan that contains the obstacle's end, and otherwise after ten minutes. */
describe("an instance that is cut off while an obstacle ends", () => {
  const work = useWorkTable();
  const { rows, happen } = work;

  for (const { name, text } of statements) {
    for (const when of ["before", "after"] as const) {
      it(`an instance is killed ${when} ${name}: another wakes every lane that was set aside, once`, () =>
        cutOff(text, when, "killed"));
      // The other instance waits 2 s for the locks, so a sample tries this for one statement only.
      if (when === "after" || inFull)
        it(`an instance is stopped ${when} ${name} and goes on later: another wakes every set-aside lane, once`, () =>
          cutOff(text, when, "stopped"));
    }
  }

  async function cutOff(text: string, when: "before" | "after", how: "killed" | "stopped"): Promise<void> {
    const seen: string[] = [];
    let isOver = false;
    const waiting = rule({
      on: {
        Happened: async ({ stream, data }) => {
          if (!isOver) return { setAside: [{ stream: "workspace-1", revision: -1 }] };
          seen.push(`${stream} ${data.number}`);
          return undefined;
        },
      },
    });
    const faulty = faultyDatabase(work.database);
    const clock = adjustableClock();
    const first = work.run([waiting], { database: faulty.database, clock });
    await happen("toy-a", 1, 2);
    await happen("toy-b", 1);
    await first.idle();
    expect(await rows("select 1 from work.lanes where obstacles is not null")).to.have.length(2);

    const cut = faulty.stopAt(text, when);
    isOver = true;
    await happen("workspace-1", 1);
    await cut;
    expect(seen).to.deep.equal([]);
    if (how === "killed") faulty.die();
    await work.database.query("update work.leases set expires_at = '-infinity'");
    const second = work.run([waiting]);
    await second.idle();
    if (how === "stopped") {
      clock.advance(20_000);
      faulty.goOn();
      await happen("toy-b", 2);
      await second.idle();
    }
    expect(seen.sort()).to.deep.equal(["toy-a 1", "toy-a 2", "toy-b 1", ...(how === "stopped" ? ["toy-b 2"] : [])]);
    for (const table of ["items", "lanes", "parked"])
      expect(await rows(`select 1 from work.${table}`), table).to.deep.equal([]);
    await Promise.all([first.stop(), second.stop()]);
  }
});
