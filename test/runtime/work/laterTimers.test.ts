import { expect } from "chai";
import { systemClock } from "#src/platform/clock.ts";
import type { Process } from "#src/processes/process.ts";
import { rewind } from "#src/runtime/work/rewind.ts";
import { append, eventually, newEvent } from "../projections/support.ts";
import { faultyDatabase } from "./faultyDatabase.ts";
import { rule, useWorkTable } from "./support.ts";

/** A process that checks events `inMs` milliseconds later, and the timers that it was called with. */
function looking({ name = "toyRule", inMs = 50, more = {} as Partial<Process> } = {}) {
  const seen: string[] = [];
  const process = rule({
    name,
    later: { Happened: ({ data }) => ({ name: "look", inMs, payload: { number: data.number.valueOf() } }) },
    on: { Told: async ({ stream }) => void seen.push(`${stream} told`) },
    onTimer: async ({ key, payload }) => void seen.push(`${key} ${payload.number}`),
    ...more,
  });
  return { seen, process };
}

describe("an event that sets a timer for later", () => {
  const work = useWorkTable();
  const timers = () => work.rows("select key, timer, payload ->> 'number' as number from work.items order by key");
  const lanes = () => work.rows("select key, state from work.lanes order by key");

  it("events of a key set one timer, with the last one's payload, and the timer is handed over once", async () => {
    const { seen, process } = looking({ inMs: 700 });
    const runner = work.run([process]);
    await runner.idle();
    await work.happen("toy-1", 1, 2);
    await work.happen("toy-1", 3);
    await work.happen("toy-2", 4);
    await runner.idle();
    expect(await timers()).to.deep.equal([
      { key: "toy-1", timer: "look", number: "3" },
      { key: "toy-2", timer: "look", number: "4" },
    ]);
    expect([await lanes(), seen]).to.deep.equal([
      [
        { key: "toy-1", state: "waiting" },
        { key: "toy-2", state: "waiting" },
      ],
      [],
    ]);
    await eventually(() => seen.length === 2);
    await runner.idle();
    expect([seen.sort(), await lanes(), await timers()]).to.deep.equal([["toy-1 3", "toy-2 4"], [], []]);
  });

  it("a later timer delays no other event of its key, also of the same plan, and is handed over after those", async () => {
    const { seen, process } = looking({ inMs: 300 });
    await append(work.store, "toy-1", newEvent("Happened", { number: 1 }), newEvent("Told"));
    await append(work.store, "toy-2", newEvent("Happened", { number: 2 }));
    const runner = work.run([process]);
    await eventually(() => seen.length > 0);
    await append(work.store, "toy-2", newEvent("Told"));
    await eventually(() => seen.length === 4);
    await runner.idle();
    expect(seen.filter((each) => each.startsWith("toy-1"))).to.deep.equal(["toy-1 told", "toy-1 1"]);
    expect(seen.filter((each) => each.startsWith("toy-2"))).to.deep.equal(["toy-2 told", "toy-2 2"]);
  });

  it("a later timer is not forgotten if its lane is set aside", async () => {
    let isAside = false;
    const { seen, process } = looking({
      more: {
        on: {
          Told: async ({ stream }) => {
            if (isAside) return undefined;
            await work.happen(stream, 1);
            await eventually(async () => (await timers()).some(({ timer }) => timer === "look"));
            isAside = true;
            return { setAside: [{ stream: "workspace-1", revision: 7 }] };
          },
        },
        onTimer: async ({ key }) => void (isAside && seen.push(key)),
      },
    });
    work.run([process]);
    await append(work.store, "toy-1", newEvent("Told"));
    await eventually(() => seen.length === 1);
  });

  it("a later timer is planned again if its plan could not be written", async () => {
    const { seen, process } = looking();
    const faulty = faultyDatabase(work.database);
    const runner = work.run([process], { database: faulty.database });
    await runner.idle();
    faulty.failAt("insert into work.items", "XX000");
    await work.happen("toy-1", 2);
    await eventually(() => seen.length > 0);
    expect(seen).to.deep.equal(["toy-1 2"]);
    expect(work.said.map(({ message }) => message)).to.include("the event log cannot be planned, retrying");
  });

  it("an event is parked if the process cannot say what to look at later", async () => {
    const { process } = looking();
    await append(work.store, "toy-1", newEvent("Happened", {}));
    await work.run([process]).idle();
    await eventually(async () => (await work.rows("select 1 from work.parked")).length === 1);
    expect(await timers()).to.deep.equal([]);
  });

  it("a later timer is set after a restore too", async () => {
    const { seen, process } = looking();
    const runner = work.run([process]);
    await runner.idle();
    await runner.stop();
    await work.happen("toy-1", 2);
    const { between } = await rewind(
      {
        ...{ store: work.store, database: work.database, clock: systemClock, holder: "restore" },
        ...{ processes: [process], skips: () => false },
      },
      { act: true },
    );
    expect(between.map(({ events }) => events)).to.deep.equal([1]);
    work.run([process]);
    await eventually(() => seen.length > 0);
    expect(seen).to.deep.equal(["toy-1 2"]);
  });
});
