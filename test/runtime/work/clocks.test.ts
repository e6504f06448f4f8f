import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "chai";
import { type Clock, systemClock } from "#src/platform/clock.ts";
import { createSharedClock, type SharedClock } from "#src/platform/postgres/sharedClock.ts";
import type { Process } from "#src/processes/process.ts";
import { eventually, quietLog } from "../projections/support.ts";
import { rule, useWorkTable } from "./support.ts";

const minutes = 60_000;

describe("instances whose clocks are five minutes apart", () => {
  const work = useWorkTable();
  const { run, rows, happen } = work;
  const clocks: SharedClock[] = [];
  afterEach(() => {
    for (const clock of clocks.splice(0)) clock.stop();
  });

  /** Makes the clock of a machine that is off by this many milliseconds. */
  async function machine(offMs: number): Promise<Clock> {
    const own: Clock = { ...systemClock, now: () => new Date(systemClock.now().getTime() + offMs) };
    const clock = createSharedClock({ own, sql: work.database, log: quietLog() });
    clocks.push(clock);
    await clock.start();
    return clock;
  }

  it("instances run each other's timers and retries neither early nor late, each once", async () => {
    // Milliseconds until the timer is due: long enough for the first instance to stop, even on a busy machine. The clocks differ by much
    // more.
    const dueInMs = 3_000;
    const due = new Map<string, number>();
    const fired: { key: string; lateMs: number; by: string }[] = [];
    const failed = new Set<string>();
    const ruleOf = (by: string, clock: Clock): Process =>
      rule({
        on: {
          Happened: async ({ stream }, { timers }) => {
            due.set(stream, performance.now() + dueInMs);
            await timers.set({ key: stream, name: "alarm", dueAt: new Date(clock.now().getTime() + dueInMs) });
          },
          Tried: async ({ stream }) => {
            if (failed.has(stream))
              return void fired.push({ key: stream, lateMs: performance.now() - due.get(stream)!, by });
            failed.add(stream);
            due.set(stream, performance.now() + dueInMs);
            throw new Error("once");
          },
        },
        onTimer: async ({ key }) => void fired.push({ key, lateMs: performance.now() - due.get(key)!, by }),
      });
    const fast = await machine(2.5 * minutes);
    const slow = await machine(-2.5 * minutes);
    const instance = (by: string, clock: Clock) => run([ruleOf(by, clock)], { clock, backoff: () => dueInMs });

    for (const [setBy, clock, other, otherClock] of [
      ["fast", fast, "slow", slow],
      ["slow", slow, "fast", fast],
    ] as const) {
      const from = fired.length;
      const first = instance(setBy, clock);
      const keys = Array.from({ length: 8 }, (_, n) => `toy-${setBy}${n}`);
      await Promise.all(keys.map((key) => happen(key, 1)));
      await work.store.append(`toy-${setBy}tried`, -1, [{ ...(await sample(keys[0]!)), type: "Tried" }]);
      await eventually(() => keys.every((key) => due.has(key)) && due.has(`toy-${setBy}tried`));
      await first.stop();
      expect(fired).to.have.length(from);
      const second = instance(other, otherClock);
      await eventually(() => fired.length - from === keys.length + 1);
      await sleep(50);
      await second.stop();
      const those = fired.slice(from);
      expect(those.map(({ key }) => key).sort()).to.deep.equal([...keys, `toy-${setBy}tried`].sort());
      for (const { by, lateMs } of those) {
        expect(by).to.equal(other);
        expect(lateMs).to.be.within(-20, 30_000);
      }
    }
    expect(await rows("select 1 from work.items")).to.deep.equal([]);
  });

  async function sample(stream: string) {
    const [event] = await work.store.read(stream, 0, 1);
    const { data, metadata } = event!;
    return { data, metadata, id: crypto.randomUUID() };
  }
});
