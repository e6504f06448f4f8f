import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "chai";
import type { NewEvent } from "#src/eventStore/eventStore.ts";
import type { Process, ProcessObstacle } from "#src/processes/process.ts";
import { capacityBesides, hasReachedLimit } from "#src/runtime/work/capacity.ts";
import { recordCompletions } from "#src/runtime/work/completions.ts";
import { setImmediateTimers } from "#src/runtime/work/immediateTimers.ts";
import { claimLanes, makeDueLanesReady } from "#src/runtime/work/lanes.ts";
import { append, eventually, newEvent } from "../projections/support.ts";
import { rule, useWorkTable } from "./support.ts";

const of = (workspaceId: string, event: NewEvent): NewEvent => ({
  ...event,
  metadata: { ...event.metadata, workspaceId },
});

describe("the work table", () => {
  const work = useWorkTable();
  const { run, rows, happen } = work;

  it("two instances each do a good part of the work, everything once, in order per key", async () => {
    const seen: { by: string; stream: string; number: number }[] = [];
    let begin = (): void => {};
    const bothAreUp = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const by = (name: string) =>
      rule({
        on: {
          Happened: async ({ stream, data }) => {
            // The start order of the instances is irrelevant for how they share.
            if (name === "second") begin();
            await bothAreUp;
            await sleep(5);
            seen.push({ by: name, stream, number: data.number });
          },
        },
      });
    const streams = Array.from({ length: 120 }, (_, n) => `toy-${n}`);
    await Promise.all(streams.map((stream) => happen(stream, 1, 2)));
    const first = run([by("first")], { concurrency: 4 });
    run([by("second")], { concurrency: 4 });
    await first.idle();
    for (const stream of streams)
      expect(seen.filter((each) => each.stream === stream).map(({ number }) => number)).to.deep.equal([1, 2]);
    const part = seen.filter((each) => each.by === "first").length / seen.length;
    expect(part).to.be.within(0.2, 0.8);
  });

  it("the work table is planned and worked on at the same moment", async () => {
    let handled = 0;
    const process = rule({
      on: {
        Happened: async () => {
          handled += 1;
        },
      },
    });
    const runner = run([process]);
    const streams = Array.from({ length: 12 }, (_, n) => `toy-${n}`);
    for (let n = 0; n < 40; n++) await Promise.all(streams.map((stream) => happen(stream, n, n)));
    await runner.idle();
    expect(handled).to.equal(40 * streams.length * 2);
  });

  it("a workspace with one item has its turn before the thousandth item of another", async () => {
    const seen: string[] = [];
    const process = rule({
      concurrency: 4,
      on: {
        Happened: async ({ metadata }) => {
          await sleep(2);
          seen.push(metadata.workspaceId as string);
        },
      },
    });
    for (let n = 0; n < 300; n++)
      await work.store.append(`toy-flood${n}`, -1, [of("flood", newEvent("Happened", { n }))]);
    const runner = run([process]);
    await eventually(() => seen.length > 20);
    await work.store.append("toy-single", -1, [of("single", newEvent("Happened"))]);
    const before = seen.length;
    await runner.idle();
    expect(seen).to.have.length(301);
    // The claimed lanes, and a few that end while this one is planned.
    expect(seen.indexOf("single") - before).to.be.below(100);
  });

  it("a workspace whose handlers never end leaves room for others", async () => {
    const seen: string[] = [];
    const process = rule({
      concurrency: 8,
      on: {
        Happened: async ({ metadata }, { signal }) => {
          if (metadata.workspaceId === "stuck")
            // A handler that begins while the instance stops is not notified again.
            while (!signal.aborted) await sleep(10);
          seen.push(metadata.workspaceId as string);
        },
      },
    });
    for (let n = 0; n < 40; n++) await work.store.append(`toy-stuck${n}`, -1, [of("stuck", newEvent("Happened"))]);
    run([process]);
    await eventually(async () => (await rows("select 1 from work.lanes where state = 'claimed'")).length >= 6);
    await work.store.append("toy-free", -1, [of("free", newEvent("Happened"))]);
    await eventually(() => seen.includes("free"));
    expect(seen).to.deep.equal(["free"]);
  });

  it("an owner has no more lanes than allowed, and owners behind a thousand of its lanes have their turn", async () => {
    const seen: string[] = [];
    const stuck = new Set<string>();
    const process = rule({
      concurrency: 16,
      ownerConcurrency: 3,
      on: {},
      onTimer: async ({ key }, { signal }) => {
        if (!key.startsWith("stuck ")) return void seen.push(key);
        stuck.add(key);
        while (!signal.aborted) await sleep(10);
      },
    });
    const due = (owner: string, count: number) =>
      work.database.transaction((tx) => {
        const key = (n: number) => ({ process: "toyRule", key: `${owner} ${n}`, workspace: "one" });
        return setImmediateTimers(
          tx,
          Array.from({ length: count }, (_, n) => ({ ...key(n), name: "alarm", payload: {} })),
        );
      });
    await due("stuck", 1_000);
    run([process]);
    await eventually(() => stuck.size === 3);
    await due("free", 20);
    await eventually(() => seen.length === 20);
    expect(stuck.size).to.equal(3);
  });

  it("lanes wait for room as soon as one owner has all that it may have", () => {
    const placed = (...keys: string[]) => keys.map((key) => ({ process: "toyRule", key, workspace: "one" }));
    const process = rule({ concurrency: 16, ownerConcurrency: 2, on: {} });
    expect(hasReachedLimit(capacityBesides(process, 32, placed("a 1", "b 1")))).to.equal(false);
    expect(hasReachedLimit(capacityBesides(process, 32, placed("a 1", "a 2")))).to.equal(true);
  });

  it("a claim skips a lane that another instance takes at the same moment, and does not wait for it", async () => {
    for (const key of ["toy-1", "toy-2"])
      await rows(`insert into work.lanes (process, key, workspace, state) values ('toyRule', '${key}', '', 'ready')`);
    const rooms = [{ process: "toyRule", lanes: 2, share: 2, atWork: {} }];
    await work.database.transaction(async (tx) => {
      await tx.query("select from work.lanes where key = 'toy-1' for no key update");
      let taken: string[] | undefined;
      const claiming = claimLanes(work.database, { rooms, holder: "here", now: new Date() }).then((claimed) => {
        taken = claimed.map(({ lane }) => lane.key);
      });
      await eventually(async () => taken !== undefined || (await work.waitsForLock()));
      expect(taken).to.deep.equal(["toy-2"]);
      await claiming;
    });
  });

  it("an ending by a former holder of a lane is refused", async () => {
    await rows("insert into work.lanes (process, key, workspace, state) values ('toyRule', 'toy-1', '', 'ready')");
    await rows(
      "insert into work.items (process, key, timer, due_at) values ('toyRule', 'toy-1', 'alarm', '-infinity')",
    );
    const now = new Date();
    const rooms = [{ process: "toyRule", lanes: 1, share: 1, atWork: {} }];
    const [former] = await claimLanes(work.database, { rooms, holder: "first", now });
    await rows("update work.lanes set claimed_until = '-infinity'");
    await makeDueLanesReady(work.database, { now, takesOver: true });
    const [present] = await claimLanes(work.database, { rooms, holder: "second", now });
    const { lane, items } = former!;
    const claims = "select holder, (select count(*) from work.items) as items from work.lanes";
    for (const said of [{ done: items[0]!.id }, { next: { how: "go on" as const } }]) {
      expect((await recordCompletions(work.database, [{ lane, ...said }], now)).held.has(lane.claim)).to.equal(false);
      expect(await rows(claims)).to.deep.equal([{ holder: "second", items: 1 }]);
    }
    const end = { lane: present!.lane, done: items[0]!.id, next: { how: "go on" as const } };
    expect((await recordCompletions(work.database, [end], now)).held).to.deep.equal(new Set([present!.lane.claim]));
    expect(await rows(claims)).to.deep.equal([]);
  });

  describe("an event that is set aside", () => {
    const workspace = `workspace-${randomUUID()}`;
    let tries = 0;
    let open = false;
    const waiting = (answer: () => Promise<ProcessObstacle[]>): Process =>
      rule({
        on: {
          Happened: async () => {
            tries += 1;
            return open ? undefined : { setAside: await answer() };
          },
        },
      });
    beforeEach(() => {
      tries = 0;
      open = false;
    });
    const revision = async () => (await work.store.readLast(workspace))?.revision ?? -1;
    const asideNow = async () => (await rows("select 1 from work.lanes where obstacles is not null")).length;

    it("an event that is set aside is handed over again when the obstacle's stream moves, and not before", async () => {
      await append(work.store, workspace, newEvent("SendingPaused"));
      const runner = run([waiting(async () => [{ stream: workspace, revision: await revision() }])]);
      await happen("toy-1", 1);
      await eventually(async () => (await asideNow()) === 1);
      await append(work.store, `workspace-${randomUUID()}`, newEvent("SendingPaused"));
      await runner.idle();
      expect([tries, await asideNow()]).to.deep.equal([1, 1]);
      open = true;
      await append(work.store, workspace, newEvent("SendingResumed"));
      await runner.idle();
      expect([tries, await asideNow()]).to.deep.equal([2, 0]);
      expect(await rows("select * from work.items")).to.deep.equal([]);
    });

    it("an event is handed over again if its obstacle ended while it was being set aside", async () => {
      await append(work.store, workspace, newEvent("SendingPaused"));
      const runner = run([
        waiting(async () => {
          const seen = await revision();
          if (tries === 1) {
            // The obstacle ends, and its end is planned, before the handler's answer is recorded.
            open = true;
            const position = await append(work.store, workspace, newEvent("SendingResumed"));
            await eventually(
              async () => (await rows(`select 1 from work.planned where planned >= ${position}`)).length > 0,
            );
          }
          return [{ stream: workspace, revision: seen }];
        }),
      ]);
      await happen("toy-1", 1);
      await eventually(() => tries === 2);
      await runner.idle();
      expect([tries, await asideNow()]).to.deep.equal([2, 0]);
    });

    it("an event that is set aside is handed over again when its key has a new event, also one during setting aside", async () => {
      await append(work.store, workspace, newEvent("SendingPaused"));
      const runner = run([
        waiting(async () => {
          if (tries === 1) {
            const position = await happen("toy-1", 2);
            await eventually(
              async () => (await rows(`select 1 from work.planned where planned >= ${position}`)).length > 0,
            );
          }
          return [{ stream: workspace, revision: await revision() }];
        }),
      ]);
      await happen("toy-1", 1);
      await eventually(() => tries === 2);
      await eventually(async () => (await asideNow()) === 1);
      open = true;
      await happen("toy-1", 3);
      await runner.idle();
      expect(tries).to.equal(2 + 3);
    });

    it("an event that is set aside waits through a restart, and delays no other key", async () => {
      await append(work.store, workspace, newEvent("SendingPaused"));
      const process = waiting(async () => [{ stream: workspace, revision: await revision() }]);
      const runner = run([process]);
      await Promise.all(Array.from({ length: 100 }, (_, n) => happen(`toy-${n}`, 1)));
      await eventually(async () => (await asideNow()) === 100);
      await runner.stop();
      open = true;
      await append(work.store, workspace, newEvent("SendingResumed"));
      await run([process]).idle();
      expect(tries).to.equal(200);
      expect(await asideNow()).to.equal(0);
    });
  });

  it("a new process begins at the position that it names", async () => {
    await happen("toy-1", 1, 2, 3);
    const seen: string[] = [];
    const named = (name: string, more: Partial<Process> = {}): Process =>
      rule({
        name,
        ...more,
        on: { Happened: async ({ data }) => void seen.push(`${name} ${data.number}`) },
      });
    const first = run([named("old"), named("fromNow", { begins: "now" })]);
    await first.idle();
    expect(seen).to.deep.equal(["old 1", "old 2", "old 3"]);
    await first.stop();
    await happen("toy-1", 4);
    const second = run([named("old"), named("late"), named("fromNow")]);
    await second.idle();
    expect(seen.slice(3).sort()).to.deep.equal(["fromNow 4", "late 1", "late 2", "late 3", "late 4", "old 4"]);
  });

  it("no process moves over events that only another version of the service plans", async () => {
    const seen: string[] = [];
    const named = (name: string): Process =>
      rule({ name, on: { Happened: async ({ data }) => void seen.push(`${name} ${data.number}`) } });
    for (const [n, names] of [["here", "there"], ["here"], ["there", "here"], ["here"], ["here", "there"]].entries()) {
      await happen("toy-1", n);
      const runner = run(names.map(named));
      await runner.idle();
      await runner.stop();
    }
    const all = ["here", "there"].flatMap((name) => [0, 1, 2, 3, 4].map((n) => `${name} ${n}`));
    expect(seen.sort()).to.deep.equal(all);
  });
});
