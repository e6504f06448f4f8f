import { expect } from "chai";
import { Behind } from "#src/eventStore/eventStore.ts";
import type { Process } from "#src/processes/process.ts";
import { requestRetry } from "#src/runtime/work/parked.ts";
import { append, eventually, newEvent } from "../projections/support.ts";
import { rule, useWorkTable } from "./support.ts";

const workspaceId = "11111111-1111-7111-8111-111111111111";

describe("a handler's input and answers", () => {
  const work = useWorkTable();
  const { rows, happen } = work;

  it("a handler's cause is its event, and a timer's is the event that set it, however often it is set again", async () => {
    const causes: Record<string, unknown>[] = [];
    const process = rule({
      categories: ["toy", "workspace"],
      on: {
        Happened: async ({ stream }, { cause, timers }) => {
          causes.push(cause);
          await timers.set({ key: stream, name: "first", inMs: 0, payload: { number: 1 } });
        },
        Opened: async (_, { cause }) => void causes.push(cause),
      },
      onTimer: async ({ key, name, payload }, { cause, timers }) => {
        causes.push({ ...cause, name, number: payload.number });
        if (name === "first") await timers.set({ key, name: "second", inMs: 0 });
      },
    });
    const event = newEvent("Happened", { number: 1 });
    const { correlationId } = event.metadata;
    event.metadata.workspaceId = workspaceId;
    await append(work.store, "toy-1", event);
    await work.run([process]).idle();
    const because = { actor: { kind: "system", id: "toyRule" }, workspaceId, correlationId, causationId: event.id };
    expect(causes).to.deep.equal([
      because,
      { ...because, name: "first", number: 1 },
      { ...because, name: "second", number: undefined },
    ]);
    await append(work.store, `workspace-${workspaceId}`, newEvent("Opened"));
    await eventually(() => causes.length === 4);
    expect(causes[3], "an operator's, about a workspace").to.include({ workspaceId });
  });

  describe("a handler that waits for read models", () => {
    /** Read models that reach every position once the test says so; callers that wait before get false. */
    function readModels() {
      let come = (): void => {};
      const there = new Promise<boolean>((resolve) => {
        come = () => resolve(true);
      });
      const projected = (_: number, { timeoutMs }: { timeoutMs: number }) =>
        timeoutMs < 1_000 ? Promise.race([there, Promise.resolve().then(() => false)]) : there;
      return { come: () => come(), projected };
    }

    /** `thrown`: a command throws the wait, instead of the handler returning it. */
    const waiting = (calls: string[], thrown = false): Process =>
      rule({
        on: {
          Happened: async ({ stream, position, data }, { reached }) => {
            calls.push(`${stream} ${data.number}`);
            if (stream !== "toy-waits" || (await reached(position))) return undefined;
            if (thrown) throw new Behind(position, ["drafts"]);
            return { waitFor: position };
          },
        },
      });

    for (const thrown of [false, true])
      it(`a waiting handler frees its place, does not count as failed, and continues${thrown ? ", also if a command throws" : ""}`, async () => {
        const calls: string[] = [];
        const { come, projected } = readModels();
        await happen("toy-waits", 1);
        const runner = work.run([waiting(calls, thrown)], { concurrency: 1, projected });
        await eventually(() => calls.length === 1);
        for (const number of [1, 2, 3]) {
          await happen("toy-other", number);
          await happen("toy-waits", number + 1);
          await eventually(() => calls.includes(`toy-other ${number}`));
        }
        expect(calls).to.deep.equal(["toy-waits 1", "toy-other 1", "toy-other 2", "toy-other 3"]);
        expect(await rows("select distinct tries, failures from work.items")).to.deep.equal([
          { tries: 0, failures: 0 },
        ]);
        const began = performance.now();
        come();
        await runner.idle();
        expect(performance.now() - began, "not when it would be looked at anyway").to.be.lessThan(5_000);
        expect(calls.slice(4)).to.deep.equal([1, 2, 3, 4].map((number) => `toy-waits ${number}`));
        expect(work.said.filter(({ level }) => level !== "info")).to.deep.equal([]);
      });

    it("a handler that waits for read models continues after the instance that was to wake it is gone", async () => {
      const calls: string[] = [];
      await happen("toy-waits", 1);
      const first = work.run([waiting(calls)], readModels());
      await eventually(async () => (await rows("select 1 from work.lanes where state = 'waiting'")).length === 1);
      await first.stop();
      await work.database.query("update work.lanes set due_at = '-infinity', retry_at = '-infinity'");
      await work.run([waiting(calls)]).idle();
      expect(calls).to.deep.equal(["toy-waits 1", "toy-waits 1"]);
    });
  });

  it("of a process that looks at a key, only the newest waiting event is handed over and the others are done", async () => {
    let broken = true;
    const seen: string[] = [];
    const process = rule({
      looksAt: "key",
      on: {
        Happened: async ({ stream, data }, { attempt }) => {
          seen.push(`${stream} ${data.number} ${attempt}`);
          if (seen.length === 1) await happen("toy-1", 11, 12);
          if (stream === "toy-bad" && attempt === 2) {
            await happen("toy-bad", 4);
            await eventually(async () => (await rows("select 1 from work.items where key = 'toy-bad'")).length === 4);
          }
          if (stream === "toy-bad" && broken) throw new Error("hard");
        },
      },
    });
    await happen("toy-1", ...Array.from({ length: 10 }, (_, index) => index + 1));
    await happen("toy-bad", 1, 2, 3);
    const runner = work.run([process], { concurrency: 1 });
    await runner.idle();
    expect(seen.filter((each) => each.startsWith("toy-1"))).to.deep.equal(["toy-1 10 1", "toy-1 12 1"]);
    expect(seen.filter((each) => each.startsWith("toy-bad"))).to.deep.equal(
      ["3 1", "3 2", "4 3", "4 4", "4 5"].map((tried) => `toy-bad ${tried}`),
    );
    expect(await rows("select key, tries from work.parked")).to.deep.equal([{ key: "toy-bad", tries: 5 }]);
    expect(await rows("select id from work.items")).to.deep.equal([]);
    broken = false;
    await requestRetry(work.database, {}, new Date());
    await runner.idle();
    expect(seen.at(-1)).to.equal("toy-bad 4 1");
    expect(await rows("select key from work.parked")).to.deep.equal([]);
  });

  it("a handler may ask to be called later as often as it likes: later events wait, and no failure is counted", async () => {
    const calls: string[] = [];
    const process = rule({
      on: {
        Happened: async ({ data }, { attempt }) => {
          calls.push(`${data.number} ${attempt}`);
          if (data.number === 1 && attempt === 8) throw new Error("hard");
          return data.number === 1 && attempt < 8 ? { againInMs: 1 } : undefined;
        },
      },
    });
    await happen("toy-1", 1, 2);
    await work.run([process]).idle();
    expect(calls).to.deep.equal([...[1, 2, 3, 4, 5, 6, 7, 8, 9].map((attempt) => `1 ${attempt}`), "2 1"]);
    expect(await rows("select 1 from work.parked")).to.deep.equal([]);
    expect(work.said.map(({ message }) => message)).to.deep.equal(["process failed, retrying"]);
  });
});
