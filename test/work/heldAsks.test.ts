import { expect } from "chai";
import { systemClock } from "#src/clock.ts";
import type { Process } from "#src/processes/process.ts";
import { type HeldAsks, holdAsks, unansweredName } from "#src/work/heldAsks.ts";
import { rewind } from "#src/work/rewind.ts";
import type { Recorded } from "#streams/event.ts";
import { eventually, newEvent } from "../subscriptions/support.ts";
import { faultyDatabase } from "./faultyDatabase.ts";
import { rule, useWorkTable } from "./support.ts";

/** An even number asks; the next one answers it. */
const pairs: Process["answered"] = {
  asks: ({ data }) => (data.number % 2 === 0 ? `${data.number}` : null),
  answers: ({ data }) => (data.number % 2 === 1 ? `${data.number - 1}` : null),
};

/** What is handed over of a process that asks, by the events' numbers. */
function asking(name = "toyRule") {
  const seen: number[] = [];
  const on = { Happened: async ({ data }: { data: { number: number } }) => void seen.push(data.number) };
  const process = rule({ name, on, answered: pairs, concerns: ({ data }) => data.number % 2 === 0 });
  return { seen, process };
}

describe("what events ask", () => {
  let now = 0;
  let asks: HeldAsks;
  let position = 0;

  beforeEach(() => {
    now = 0;
    position = 10;
    asks = holdAsks([asking().process], { after: position, clock: { monotonic: () => now } });
  });

  const happen = (...numbers: number[]): void => {
    const events = numbers.map(
      (number): Recorded =>
        ({ ...newEvent("Happened", { number }), stream: "toy-1", revision: 0, position: ++position }) as never,
    );
    // The log goes on with what is not for it.
    asks.take({ events, position: ++position });
  };
  const due = () => {
    const { work, ...rest } = asks.due();
    return { ...rest, asked: work.map(({ event }) => (event.data as { number: number }).number) };
  };

  it("is let go after a second, and only so far is it read", () => {
    happen(1, 2);
    expect(due()).to.deep.equal({ position: 11, asked: [] });
    now = 600;
    happen(4);
    now = 1_000;
    expect(due()).to.deep.equal({ position: 13, asked: [2] });
    now = 1_600;
    expect(due()).to.deep.equal({ position: 15, asked: [4] });
    expect(due()).to.deep.equal({ position: 15, asked: [] });
  });

  it("is gone once it is answered, in another stretch of the log too, but not by what came before it", () => {
    happen(2, 5, 4);
    happen(3);
    expect(due()).to.deep.equal({ position: 12, asked: [] });
    happen(5);
    expect(due()).to.deep.equal({ position: 18, asked: [] });
    now = 5_000;
    expect(due()).to.deep.equal({ position: 18, asked: [] });
  });

  it("is let go together for all of whom one event asks, so that none is passed over", () => {
    const ticking = { monotonic: () => now++ };
    asks = holdAsks([asking().process, asking("otherRule").process], { after: position, clock: ticking });
    happen(2);
    for (let looks = 0; looks < 1_100; looks++) {
      const { work, position: reached } = asks.due();
      if (reached === 10) expect(work).to.deep.equal([]);
      else return expect(work.map(({ process }) => process)).to.deep.equal(["toyRule", "otherRule"]);
    }
    expect.fail("it was never let go");
  });
});

describe("what events ask of processes", () => {
  const work = useWorkTable();
  const stoodOf = async (name: string): Promise<number> =>
    (await work.rows(`select planned from work.planned where name = '${name}'`))[0]?.planned;
  const laneRows = () => work.rows("select 1 from work.lanes");
  /** Nothing has waited long enough, however busy the machine is. */
  const standingStill = { ...systemClock, monotonic: () => 0 };

  it("is not planned with the rest, before and after its answer", async () => {
    const { seen, process } = asking();
    const runner = work.run([process], { clock: standingStill });
    await runner.idle();
    for (const number of [2, 3, 4, 5]) {
      const asked = await work.happen("toy-1", number);
      await eventually(async () => (await stoodOf("toyRule")) >= asked);
      expect(await laneRows()).to.deep.equal([]);
    }
    expect(seen).to.deep.equal([]);
  });

  it("is not lost if its planner ends while it waits for the answer", async () => {
    const { seen, process } = asking();
    const first = work.run([process], { clock: standingStill });
    await first.idle();
    const asked = await work.happen("toy-1", 2);
    await eventually(async () => (await stoodOf("toyRule")) >= asked);
    await first.stop();
    expect([seen, (await stoodOf(unansweredName)) < asked]).to.deep.equal([[], true]);
    await work.run([process]).idle();
    expect(seen).to.deep.equal([2]);
  });

  it("is planned again where its plan could not be written, after it was let go", async () => {
    const { seen, process } = asking();
    const faulty = faultyDatabase(work.database);
    const runner = work.run([process], { database: faulty.database });
    await runner.idle();
    // No item but this one's is written.
    faulty.failAt("insert into work.items", "XX000");
    await work.happen("toy-1", 2);
    await runner.idle();
    expect(seen).to.deep.equal([2]);
    expect(work.said.map(({ message }) => message)).to.include("the event log cannot be planned, retrying");
  });

  it("is planned for a process that is new in a log with earlier events, too", async () => {
    await work.happen("toy-1", 2, 3, 4);
    const first = asking();
    const alone = work.run([first.process]);
    await alone.idle();
    await alone.stop();
    const late = asking("lateRule");
    const runner = work.run([first.process, late.process]);
    await runner.idle();
    expect([first.seen, late.seen]).to.deep.equal([[4], [4]]);
  });

  it("is looked at after a restore too where it had no answer in the backup", async () => {
    const { seen, process } = asking();
    const runner = work.run([process]);
    await runner.idle();
    const stood = await stoodOf(unansweredName);
    await runner.stop();
    const asked = await work.happen("toy-1", 2);
    await work.happen("toy-2", 4, 5, 6);
    // The process had been planned up to what asked, which was waiting for its answer.
    await work.database.query("update work.processes set planned = case when name = $1 then $2::bigint else $3 end", [
      unansweredName,
      stood,
      asked,
    ]);
    const { between } = await rewind(
      {
        ...{ store: work.store, database: work.database, clock: systemClock, holder: "restore" },
        ...{ processes: [process], skips: () => false },
      },
      { act: true },
    );
    expect(between.map(({ events }) => events)).to.deep.equal([2]);
    await work.run([process]).idle();
    expect(seen.sort()).to.deep.equal([2, 6]);
  });
});
