import { expect } from "chai";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { type Clock, systemClock } from "#src/platform/clock.ts";
import type { Process } from "#src/processes/process.ts";
import { requestRetry } from "#src/runtime/work/parked.ts";
import type { ProcessRunnerOptions } from "#src/runtime/work/runner.ts";
import { append, cutConnections, eventually, newEvent } from "../projections/support.ts";
import { rule, useWorkTable } from "./support.ts";

/** A time that stands until it is moved. */
function handClock(): Clock & { advance(milliseconds: number): void } {
  let now = Date.parse("2026-01-01T00:00:00Z");
  return {
    now: () => new Date(now),
    monotonic: systemClock.monotonic,
    advance(milliseconds) {
      now += milliseconds;
    },
  };
}

/** Something many wait for, opened once. */
function gate(): { opened: Promise<void>; open(): void } {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

describe("the process runner", () => {
  const work = useWorkTable();
  const { rows, happen } = work;
  const run = (process: Process, more: Partial<ProcessRunnerOptions> = {}) => work.run([process], more);

  it("the process runner hands over every event of its categories and types, in order per key, also after a restart", async () => {
    const seen = new Map<string, number[]>();
    const process = rule({
      on: {
        Happened: async ({ stream, data }) => {
          await new Promise((resolve) => setTimeout(resolve, Math.random() * 3));
          seen.set(stream, [...(seen.get(stream) ?? []), data.number]);
        },
      },
    });
    const numbers = Array.from({ length: 20 }, (_, index) => index);
    const first = run(process);
    for (const number of numbers.slice(0, 10)) {
      await Promise.all(Array.from({ length: 20 }, (_, stream) => happen(`toy-${stream}`, number)));
    }
    await append(work.store, "toy-1", newEvent("Ignored"));
    await append(work.store, "other-1", newEvent("Happened", { number: 99 }));
    await first.idle();
    await first.stop();
    for (const number of numbers.slice(10)) {
      await Promise.all(Array.from({ length: 20 }, (_, stream) => happen(`toy-${stream}`, number)));
    }
    await run(process).idle();
    expect([...seen.keys()]).to.have.length(20);
    for (const those of seen.values()) expect(those).to.deep.equal(numbers);
  });

  it("the process runner keeps the order of a key through retries, and other keys do not wait for it", async () => {
    const seen: string[] = [];
    let tries = 0;
    const process = rule({
      on: {
        Happened: async ({ stream, data }, { attempt }) => {
          if (stream === "toy-slow" && data.number === 1) tries = attempt;
          if (stream === "toy-slow" && !seen.includes("toy-quick 2")) throw new Unavailable("not yet");
          seen.push(`${stream} ${data.number}`);
        },
      },
    });
    const runner = run(process);
    await happen("toy-slow", 1, 2);
    await eventually(() => tries > 2);
    await happen("toy-quick", 1, 2);
    await runner.idle();
    expect(seen).to.deep.equal(["toy-quick 1", "toy-quick 2", "toy-slow 1", "toy-slow 2"]);
  });

  it("the process runner runs as many keys at once as allowed, and one event of a key at a time", async () => {
    let now = 0;
    let most = 0;
    const busy = new Set<string>();
    const process = rule({
      on: {
        Happened: async ({ stream }) => {
          expect(busy.has(stream)).to.equal(false);
          busy.add(stream);
          most = Math.max(most, ++now);
          await new Promise((resolve) => setTimeout(resolve, 5));
          now -= 1;
          busy.delete(stream);
        },
      },
    });
    await Promise.all(Array.from({ length: 12 }, (_, stream) => happen(`toy-${stream}`, 1, 2, 3)));
    await run(process, { concurrency: 4 }).idle();
    expect(most).to.equal(4);
    expect(await rows("select * from work.parked")).to.deep.equal([]);
  });

  it("a stuck handler delays its own key alone, however many events wait there", async () => {
    const stuck = gate();
    const seen: string[] = [];
    const process = rule({
      on: {
        Happened: async ({ stream, data }) => {
          if (stream === "toy-stuck") await stuck.opened;
          seen.push(`${stream} ${data.number}`);
        },
      },
    });
    const many = Array.from({ length: 400 }, (_, index) => index);
    await happen("toy-free", 0);
    await happen("toy-stuck", ...many);
    await happen("toy-free", 1);
    const runner = run(process);
    await eventually(() => seen.includes("toy-free 1"));
    expect(seen).to.deep.equal(["toy-free 0", "toy-free 1"]);
    await eventually(async () => (await rows("select key from work.lanes")).length === 1);
    expect(await rows("select key, state from work.lanes")).to.deep.equal([{ key: "toy-stuck", state: "claimed" }]);
    stuck.open();
    await runner.idle();
    expect(seen.slice(2)).to.deep.equal(many.map((number) => `toy-stuck ${number}`));
    expect(await rows("select key from work.lanes union all select key from work.items")).to.deep.equal([]);
  });

  it("stuck handlers of one workspace in all places delay no other workspace and no other process", async () => {
    const stuck = gate();
    const seen: string[] = [];
    let atWork = 0;
    const slots = 4;
    const process = rule({
      on: {
        Happened: async ({ stream, metadata }) => {
          atWork += 1;
          if (metadata.workspaceId === "stuck") await stuck.opened;
          atWork -= 1;
          seen.push(stream);
        },
      },
    });
    const others: string[] = [];
    const another = rule({ name: "another", on: { Happened: async ({ stream }) => void others.push(stream) } });
    const happenIn = (workspaceId: string, stream: string) => {
      const event = newEvent("Happened", { number: 1 });
      return append(work.store, stream, { ...event, metadata: { ...event.metadata, workspaceId } });
    };
    const keys = Array.from({ length: slots }, (_, n) => `toy-stuck${n}`);
    for (const key of keys) await happenIn("stuck", key);
    const runner = work.run([process, another], { concurrency: slots });
    await eventually(() => atWork === 3 && others.length === slots);
    await happenIn("free", "toy-free");
    await eventually(() => seen.length > 0 && others.length === slots + 1);
    expect(seen).to.deep.equal(["toy-free"]);
    stuck.open();
    await runner.idle();
    expect(seen.slice(1).sort()).to.deep.equal(keys);
  });

  it("an event that fails five times is parked without delaying other keys, and a retry succeeds later", async () => {
    let broken = true;
    const seen: string[] = [];
    const lastWords: string[] = [];
    const process = rule({
      on: {
        Happened: async ({ stream, data }, { attempt }) => {
          const unlucky = broken && data.number === 13;
          // The last try lasts until the other key was served, which it would never be if it were held up.
          if (unlucky && attempt === 5) await eventually(() => seen.includes("toy-other 1"));
          if (unlucky) throw new Error("unlucky \u0000");
          seen.push(`${stream} ${data.number}`);
        },
      },
      givingUp: async (event, { error }) => {
        lastWords.push(`${"stream" in event && event.stream}: ${error.message}`);
        throw new Error("no way out");
      },
    });
    const runner = run(process);
    const position = await happen("toy-poison", 13);
    await happen("toy-poison", 14);
    await happen("toy-other", 1);
    await eventually(() => seen.includes("toy-other 1"));
    expect(seen).to.deep.equal(["toy-other 1"]);
    await runner.idle();
    expect(seen).to.deep.equal(["toy-other 1", "toy-poison 14"]);
    expect(lastWords).to.deep.equal(["toy-poison: unlucky \u0000"]);
    const [parked] = await rows("select process, key, position, tries, error, item->'data' as data from work.parked");
    expect(parked).to.include({ process: "toyRule", key: "toy-poison", position, tries: 5 });
    expect(parked!.error).to.match(/unlucky[\s\S]*the last resort failed: no way out/);
    expect(parked!.data).to.deep.equal({ number: 13 });

    broken = false;
    expect(await requestRetry(work.database, { process: "anotherRule" }, new Date())).to.equal(0);
    expect(await requestRetry(work.database, { process: "toyRule" }, new Date())).to.equal(1);
    await runner.idle();
    expect(seen.at(-1)).to.equal("toy-poison 13");
    expect(await rows("select * from work.parked")).to.deep.equal([]);
  });

  it("a retry that fails is parked again, with the tries counted and its error", async () => {
    const process = rule({
      on: {
        Happened: async () => {
          throw new Error("still broken");
        },
      },
    });
    const runner = run(process);
    await happen("toy-1", 1);
    await runner.idle();
    await requestRetry(work.database, {}, new Date());
    await runner.idle();
    expect(await rows("select tries, retry_requested_at from work.parked")).to.deep.equal([
      { tries: 10, retry_requested_at: null },
    ]);
  });

  it("the process runner retries without end while infrastructure is away, and for a rule that never gives up", async () => {
    let unreachable = 0;
    let failed = 0;
    const away = rule({
      on: {
        Happened: async () => {
          if (++unreachable < 8) throw new Unavailable("the database is away");
        },
      },
    });
    const never = rule({
      name: "neverRule",
      givingUp: "never",
      on: {
        Happened: async () => {
          if (++failed < 7) throw new Error("hard");
        },
      },
    });
    await happen("toy-1", 1);
    await run(away, { processes: [away, never] }).idle();
    expect([unreachable, failed]).to.deep.equal([8, 7]);
    expect(await rows("select * from work.parked")).to.deep.equal([]);
  });

  it("an event whose key cannot be computed is parked like any other", async () => {
    const process = rule({
      keyOf: ({ data }) => (data.nested as { key: string }).key,
      on: { Happened: async () => {} },
    });
    const runner = run(process);
    await happen("toy-1", 1);
    await runner.idle();
    expect(await rows("select key from work.parked")).to.deep.equal([{ key: "toy-1" }]);
  });

  it("a timer fires once when it is due, with its payload; a cancelled or moved one does not", async () => {
    const clock = handClock();
    const fired: unknown[] = [];
    const at = (seconds: number) => new Date(clock.now().getTime() + seconds * 1000);
    const process = rule({
      on: {
        // Not waited for on purpose: it counts as part of the handler all the same.
        Happened: async ({ stream, data }, { timers }) =>
          void timers.set({ key: stream, name: "alarm", dueAt: at(data.number), payload: data }),
        Calmed: ({ stream }, { timers }) => timers.cancel(stream, "alarm"),
      },
      onTimer: async ({ key, name, payload, dueAt }) => {
        expect(dueAt.getTime()).to.be.at.most(clock.now().getTime());
        fired.push([key, name, payload.number]);
      },
    });
    const runner = run(process, { clock });
    await happen("toy-early", 5);
    await happen("toy-late", 60);
    await happen("toy-moved", 5, 60);
    await happen("toy-calmed", 5);
    await append(work.store, "toy-calmed", newEvent("Calmed"));
    await runner.idle();
    expect(fired).to.deep.equal([]);
    clock.advance(5_000);
    await runner.idle();
    expect(fired).to.deep.equal([["toy-early", "alarm", 5]]);
    clock.advance(60_000);
    await runner.idle();
    expect(fired).to.have.length(3);
    expect(await rows("select * from work.items")).to.deep.equal([]);
  });

  it("a timer set again by its own handler is due again", async () => {
    const clock = handClock();
    let fired = 0;
    const process = rule({
      on: { Happened: ({ stream }, { timers }) => timers.set({ key: stream, name: "tick", dueAt: clock.now() }) },
      onTimer: async ({ key }, { timers }) => {
        if (++fired < 5) await timers.set({ key, name: "tick", dueAt: clock.now() });
      },
    });
    await happen("toy-1", 1);
    await run(process, { clock }).idle();
    expect(fired).to.equal(5);
  });

  it("a timer waits for the event before it under the same key, and is not fired if that event cancels it", async () => {
    const clock = handClock();
    const decided = gate();
    const waiting = gate();
    let fired = 0;
    const process = rule({
      on: {
        Happened: ({ stream }, { timers }) =>
          timers.set({ key: stream, name: "escalate", dueAt: new Date(clock.now().getTime() + 1000) }),
        Decided: async ({ stream }, { timers }) => {
          waiting.open();
          await decided.opened;
          await timers.cancel(stream, "escalate");
        },
      },
      onTimer: async () => {
        fired += 1;
      },
    });
    const runner = run(process, { clock });
    await happen("toy-1", 1);
    await runner.idle();
    await append(work.store, "toy-1", newEvent("Decided"));
    await waiting.opened;
    clock.advance(2_000);
    await new Promise((resolve) => setTimeout(resolve, 600));
    decided.open();
    await runner.idle();
    expect(fired).to.equal(0);
    expect(await rows("select timer from work.items")).to.deep.equal([]);
    expect(await rows("select key from work.lanes")).to.deep.equal([]);
  });

  it("timers survive a restart, and each fires once in one of two instances", async () => {
    const clock = handClock();
    const fired: string[] = [];
    const process = rule({
      on: {
        Happened: ({ stream }, { timers }) =>
          timers.set({ key: stream, name: "alarm", dueAt: new Date(clock.now().getTime() + 1000) }),
      },
      onTimer: async ({ key }) => void fired.push(key),
    });
    const first = run(process, { clock });
    const streams = Array.from({ length: 100 }, (_, index) => `toy-${index}`);
    await Promise.all(streams.map((stream) => happen(stream, 1)));
    await first.idle();
    await first.stop();
    clock.advance(1_000);
    run(process, { clock });
    run(process, { clock });
    await eventually(async () => (await rows("select 1 from work.items")).length === 0);
    expect([...fired].sort()).to.deep.equal([...streams].sort());
  });

  it("a timer that fails is parked with its payload, and handed over again on a retry", async () => {
    let broken = true;
    const fired: unknown[] = [];
    const process = rule({
      on: {
        Happened: ({ stream }, { timers }) =>
          timers.set({ key: stream, name: "alarm", dueAt: new Date(0), payload: { tries: 3 } }),
      },
      onTimer: async (timer) => {
        if (broken) throw new Error("no bell");
        fired.push({ ...timer, payload: timer.payload.tries });
      },
    });
    const runner = run(process);
    await happen("toy-1", 1);
    await runner.idle();
    expect(await rows("select key, timer, position from work.parked")).to.deep.equal([
      { key: "toy-1", timer: "alarm", position: null },
    ]);
    expect(await rows("select * from work.items")).to.deep.equal([]);
    broken = false;
    await requestRetry(work.database, {}, new Date());
    await runner.idle();
    expect(fired).to.deep.equal([{ key: "toy-1", name: "alarm", dueAt: new Date(0), payload: 3 }]);
  });

  it("a handler whose claim was taken is aborted, begins nothing that waits, and may set no timers", async () => {
    const begun = gate();
    const ended = gate();
    const seen: number[] = [];
    const process = rule({
      on: {
        Happened: async ({ data, stream }, { signal, timers }) => {
          seen.push(data.number);
          if (seen.length > 1) return;
          begun.open();
          await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
          await timers.set({ key: stream, name: "late", dueAt: new Date("2999-01-01") });
          ended.open();
        },
      },
    });
    const runner = run(process);
    await happen("toy-1", 1, 2, 3);
    await begun.opened;
    await work.database.query(
      "update work.lanes set holder = 'another', claim = gen_random_uuid(), claimed_until = now() + interval '4 s'",
    );
    await ended.opened;
    expect(seen).to.deep.equal([1]);
    expect(await rows("select holder from work.lanes")).to.deep.equal([{ holder: "another" }]);
    // The other instance never handles its items: all are handled again from the start.
    await eventually(() => seen.length === 4);
    await runner.idle();
    expect(seen).to.deep.equal([1, 1, 2, 3]);
    expect(await rows("select * from work.items")).to.deep.equal([]);
  });

  it("a claim is extended for as long as its handler runs", async () => {
    const done = gate();
    let told = false;
    let begun = 0;
    const process = rule({
      on: {
        Happened: async (_, { signal }) => {
          begun += 1;
          signal.addEventListener("abort", () => {
            told = true;
          });
          await done.opened;
        },
      },
    });
    const runner = run(process);
    run(process);
    await happen("toy-1", 1);
    await eventually(() => begun === 1);
    const left = "select claimed_until - clock_timestamp() > interval '8 s' as whole from work.lanes";
    await work.database.query("update work.lanes set claimed_until = clock_timestamp() + interval '6 s'");
    await eventually(async () => (await rows(left))[0]?.whole === true);
    done.open();
    await runner.idle();
    expect([begun, told]).to.deep.equal([1, false]);
  });

  it("the process runner survives cut connections", async () => {
    const seen = new Map<string, number[]>();
    const process = rule({
      on: {
        Happened: async ({ stream, data }, { timers }) => {
          await timers.set({ key: stream, name: "alarm", dueAt: new Date(0) });
          const numbers = seen.get(stream) ?? [];
          if (numbers.at(-1) !== data.number) seen.set(stream, [...numbers, data.number]);
        },
      },
      onTimer: async () => {},
    });
    const runner = run(process);
    const numbers = Array.from({ length: 60 }, (_, index) => index);
    const cutting = (async () => {
      for (let cut = 0; cut < 8; cut++) {
        await cutConnections(work.database);
        await new Promise((resolve) => setTimeout(resolve, 40));
      }
    })();
    for (const number of numbers)
      await Promise.all(["toy-a", "toy-b", "toy-c"].map((stream) => happen(stream, number)));
    await cutting;
    await eventually(() =>
      runner.idle().then(
        () => true,
        () => false,
      ),
    );
    for (const those of seen.values()) expect(those).to.deep.equal(numbers);
    expect(await rows("select * from work.parked")).to.deep.equal([]);
  });
});
