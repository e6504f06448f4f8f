import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "chai";
import type { EventStore } from "#src/eventStore/eventStore.ts";
import { upcastReads } from "#src/eventStore/upcasting.ts";
import { type Clock, systemClock } from "#src/platform/clock.ts";
import type { BackgroundDatabase } from "#src/platform/postgres/database.ts";
import type { Process } from "#src/processes/process.ts";
import { requestRetry } from "#src/runtime/work/parked.ts";
import { markForRetry } from "#src/runtime/work/setAside.ts";
import { inFull } from "#test/support/full.ts";
import { append, eventually, growingTooLong, type LoggedLine, newEvent, quietLog } from "../projections/support.ts";
import { faultyDatabase } from "./faultyDatabase.ts";
import { rule, useWorkTable } from "./support.ts";

const minutes = 60_000;

describe("the work table during faults", () => {
  const work = useWorkTable();
  const { run, rows, happen } = work;

  const levels = (said: readonly LoggedLine[], level: LoggedLine["level"]): string[] =>
    said.flatMap((line) => (line.level === level ? line.message : []));

  it("after PostgreSQL was away, an instance extends its claims, and takes over those of others only later", async () => {
    let passedMs = 0;
    const clock: Clock = { ...systemClock, monotonic: () => systemClock.monotonic() + passedMs };
    const pass = async (ms: number): Promise<void> => {
      if (inFull) await sleep(ms);
      else passedMs += ms;
    };
    const seen: string[] = [];
    const aborted: string[] = [];
    let end = (): void => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const ruleOf = (by: string): Process =>
      rule({
        on: {
          Happened: async ({ stream }, { signal }) => {
            signal.addEventListener("abort", () => aborted.push(by));
            seen.push(`${by} ${stream}`);
            if (stream === "toy-long") await ended;
          },
        },
        onTimer: async ({ key }) => void seen.push(`${by} ${key}`),
      });
    /** Statements of the first instance about claims, and their answers. */
    const asked: ("looks" | "extends")[] = [];
    const noting = (database: BackgroundDatabase): BackgroundDatabase => ({
      ...database,
      async query<Row extends Record<string, unknown>>(text: string, values?: readonly unknown[]) {
        const answer = await database.query<Row>(text, values);
        if (text.includes("claimed_until < clock_timestamp()")) asked.push("looks");
        if (text.endsWith("returning lane.claim")) asked.push("extends");
        return answer;
      },
    });
    const instance = (by: string) => {
      const faulty = faultyDatabase(work.database);
      const database = by === "first" ? noting(faulty.database) : faulty.database;
      run([ruleOf(by)], { database, clock, instanceId: by });
      return faulty;
    };
    const first = instance("first");
    await happen("toy-long", 1);
    await eventually(() => seen.length === 1);
    const second = instance("second");
    const lane = () =>
      rows("select holder, claim, claimed_until > clock_timestamp() as holds from work.lanes where key = 'toy-long'");
    const [before] = await lane();

    await Promise.all([first, second].map((each) => each.goAway()));
    await pass(60_000);
    await work.database.query("update work.lanes set claimed_until = clock_timestamp() - interval '1 s'");
    // Makes a lane whose instance has died.
    const orphan = (key: string) =>
      work.database.query(
        `insert into work.lanes (process, key, workspace, state, holder, claim, claimed_until)
         values ('toyRule', $1, '', 'claimed', 'gone', gen_random_uuid(), clock_timestamp() - interval '1 s')`,
        [key],
      );
    await orphan("toy-orphan");
    await happen("toy-orphan", 1);
    asked.splice(0);
    for (const each of [first, second]) each.comeBack();
    await eventually(() => asked.length > asked.indexOf("looks") + 1 && asked.includes("looks"));
    // The instance extends its claims immediately, not at the next round, which may be as late as the expiry of another instance's claim.
    expect(asked[asked.indexOf("looks") + 1]).to.equal("extends");
    await eventually(async () => (await lane())[0]?.holds === true);
    expect(await lane()).to.deep.equal([before]);
    await sleep(600);
    expect(seen).to.deep.equal(["first toy-long"]);
    // Each step is too short to count as another outage.
    for (let step = 0; step < 2; step++) {
      await pass(2_500);
      await sleep(300);
    }
    await eventually(() => seen.length === 2);
    expect(seen[1]).to.match(/toy-orphan$/);
    // An instance that holds claims and extends them takes over as well as an instance without claims.
    await second.goAway();
    await rows(
      "insert into work.items (process, key, timer, due_at) values ('toyRule', 'toy-left', 'look', '-infinity')",
    );
    await orphan("toy-left");
    await eventually(() => seen.length === 3);
    expect(seen[2]).to.equal("first toy-left");
    second.comeBack();
    end();
    await eventually(async () => (await rows("select 1 from work.lanes")).length === 0);
    expect([seen.length, aborted]).to.deep.equal([3, []]);
  });

  it("an instance plans and records again soon after PostgreSQL was away, however long", async () => {
    const seen: unknown[] = [];
    const faulty = faultyDatabase(work.database);
    const away = async (meanwhile: () => Promise<unknown>, complaint: string): Promise<void> => {
      await faulty.goAway();
      await meanwhile();
      await eventually(() => work.said.filter(({ message }) => message === complaint).length > 6);
      faulty.comeBack();
    };
    let end = (): void => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const on: Process["on"] = {
      Happened: async ({ data }) => {
        seen.push(data.number);
        if (data.number === 1) await ended;
      },
    };
    run([rule({ on })], { database: faulty.database, backoff: growingTooLong });
    await happen("toy-a", 1);
    await eventually(() => seen.length === 1);
    // New events have to be planned, and the end of the handler has to be recorded.
    await away(() => happen("toy-b", 2), "cannot plan the event log, retrying");
    await eventually(() => seen.length === 2);
    await away(async () => end(), "cannot record progress, retrying");
    await eventually(async () => (await rows("select 1 from work.lanes")).length === 0);
  });

  it("an instance plans again what a crash of PostgreSQL lost after it was planned, though no statement failed", async () => {
    const seen: unknown[] = [];
    const on: Process["on"] = { Happened: async ({ data }) => void seen.push(data.number) };
    const runner = run([rule({ on })]);
    await happen("toy-1", 1);
    await happen("toy-2", 2);
    await runner.idle();
    expect(seen).to.have.members([1, 2]);
    // Simulates a server that crashed before its last commit was on the disk.
    expect(await rows("update work.front set position = 1 where position = 2 returning 1")).to.have.length(1);
    await eventually(() => seen.length > 2);
    await happen("toy-1", 3);
    await runner.idle();
    expect(seen.slice(2)).to.deep.equal([2, 3]);
  });

  it("a handler that never ends is aborted ten times, then its item is parked and its lane continues", async () => {
    let begun = 0;
    let told = 0;
    const seen: unknown[] = [];
    const logger = quietLog();
    const process = rule({
      longestRunSeconds: 0.01,
      on: {
        Happened: async ({ data }, { signal }) => {
          if (data.number !== 1) return void seen.push(data.number);
          begun += 1;
          await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
          told += 1;
          await new Promise(() => {});
        },
      },
    });
    const runner = run([process], { logger });
    await happen("toy-1", 1, 2);
    await runner.idle();
    expect([begun, told, seen]).to.deep.equal([10, 10, [2]]);
    expect(await rows("select position, tries from work.parked")).to.deep.equal([{ position: 1, tries: 10 }]);
    expect(levels(logger.said, "error")).to.deep.equal(["gave up and parked the item"]);
  });

  it("giving up that never ends keeps no place, and is tried again until it ends", async () => {
    let givingUp = 0;
    const seen: unknown[] = [];
    const logger = quietLog();
    const process = rule({
      longestRunSeconds: 0.05,
      on: {
        Happened: async ({ data }) => {
          if (data.number === 1) throw new Error("hard");
          seen.push([data.number, givingUp]);
        },
      },
      givingUp: async () => {
        givingUp += 1;
        // No handler ends here until the other lanes have had the only slot.
        if (givingUp < 3 || seen.length === 0) await new Promise(() => {});
      },
    });
    const runner = run([process], { logger, concurrency: 1 });
    await happen("toy-1", 1);
    await eventually(() => givingUp > 0);
    await happen("toy-2", 2);
    await runner.idle();
    expect(seen).to.have.length(1);
    expect(await rows("select key from work.parked")).to.deep.equal([{ key: "toy-1" }]);
    expect(levels(logger.said, "error")).to.deep.equal(["gave up and parked the item"]);
    const waited = levels(logger.said, "warn").filter((said) => said === "cannot give up on the item yet, retrying");
    expect(waited).to.have.length(givingUp - 1);
  });

  it("an item whose query is too long is parked at the tenth try, unless giving up has consequences", async () => {
    const tries = { toyRule: 0, lasting: 0 };
    const tooMuch = (name: keyof typeof tries) => async () => {
      tries[name] += 1;
      await work.database.transaction(async (tx) => {
        await tx.query("set local statement_timeout = 2");
        await tx.query("select pg_sleep(5)");
      });
    };
    const logger = quietLog();
    run(
      [
        rule({ on: { Happened: tooMuch("toyRule") } }),
        rule({ name: "lasting", on: { Happened: tooMuch("lasting") }, givingUp: async () => {} }),
      ],
      { logger, backoff: () => 5 },
    );
    await happen("toy-1", 1);
    await eventually(async () => tries.lasting > 12 && (await rows("select 1 from work.parked")).length > 0);
    expect(await rows("select process, tries from work.parked")).to.deep.equal([{ process: "toyRule", tries: 10 }]);
    expect(levels(logger.said, "error")).to.deep.equal(["gave up and parked the item"]);
  });

  describe("lanes that are set aside without an event to wake them", () => {
    const setAsideUnder = (stream: string, tried: string[], isOpen: () => boolean): Process =>
      rule({
        on: {
          Happened: async (event) => {
            tried.push(event.stream);
            return isOpen() ? undefined : { setAside: [{ stream, revision: 7 }] };
          },
        },
      });
    const asideNow = async () => (await rows("select 1 from work.lanes where obstacles is not null")).length;

    it("set-aside lanes are tried every ten minutes, a page at a time, and are gone once they get through", async () => {
      let passedMs = 0;
      const clock: Clock = { ...systemClock, now: () => new Date(systemClock.now().getTime() + passedMs) };
      const tried: string[] = [];
      let open = false;
      const stream = "workspace-11111111-1111-7111-8111-111111111111";
      const runner = run([setAsideUnder(stream, tried, () => open)], { clock });
      const keys = Array.from({ length: 12 }, (_, n) => `toy-${n}`);
      await Promise.all(keys.map((key) => happen(key, 1)));
      await eventually(async () => (await asideNow()) === keys.length);
      expect(tried).to.have.length(keys.length);
      const look = async (ms: number): Promise<void> => {
        passedMs += ms;
        await markForRetry(work.database, clock.now());
        await runner.idle();
      };
      await look(9 * minutes);
      expect(tried).to.have.length(12);
      for (let round = 1; round <= 2; round++) {
        await look(round === 1 ? 1.1 * minutes : 10 * minutes);
        expect(tried).to.have.length(12 + 12 * round);
        await look(3_000);
        await look(minutes);
        expect(tried).to.have.length(12 + 12 * round);
      }
      open = true;
      await look(10 * minutes);
      expect(tried).to.have.length(12 + 12 * 3);
      await runner.idle();
      expect(await rows("select 1 from work.lanes")).to.deep.equal([]);
      await look(10 * minutes);
      expect(await rows("select 1 from work.tags where try_at is not null")).to.deep.equal([]);
    });

    it("a handler that sets its timer and sets itself aside is not called again at once", async () => {
      const tried: string[] = [];
      const stream = "workspace-11111111-1111-7111-8111-111111111111";
      const runner = run([
        rule({
          on: {
            Happened: async ({ stream: key }, { timers }) => {
              tried.push(key);
              await timers.set({ key, name: "look", dueAt: new Date("2999-01-01") });
              return { setAside: [{ stream, revision: 7 }] };
            },
          },
        }),
      ]);
      await happen("toy-1", 1);
      await eventually(async () => (await asideNow()) === 1);
      await runner.idle();
      expect(tried).to.deep.equal(["toy-1"]);
      expect(await rows("select due_at > now() as later from work.lanes")).to.deep.equal([{ later: true }]);
    });
  });

  it("an unreadable event is parked for every process of its category, and planning continues", async () => {
    let broken = true;
    const upcasters = {
      Happened: {
        1: (data: Record<string, unknown>) => {
          if (broken && data.number === 13) throw new Error("unreadable");
          return { data };
        },
      },
    };
    const seen: string[] = [];
    const named = (name: string, type: string): Process =>
      rule({ name, on: { [type]: async ({ data }) => void seen.push(`${name} ${data.number}`) } });
    const store = upcastReads(work.store, upcasters);
    const logger = quietLog();
    const runner = run([named("one", "Happened"), named("other", "Else")], { store, logger });
    await happen("toy-1", 13);
    await happen("toy-2", 1);
    await append(work.store, "toy-2", newEvent("Else", { number: 2 }));
    // Only the planner itself reads this event.
    await append(work.store, "rule-1", newEvent("Happened", { number: 13 }));
    await runner.idle();
    expect(seen.sort()).to.deep.equal(["one 1", "other 2"]);
    const parked = await rows("select process, key, position, error from work.parked order by process");
    expect(parked.map(({ process, key, position }) => [process, key, position])).to.deep.equal([
      ["one", "toy-1", 1],
      ["other", "toy-1", 1],
    ]);
    expect(parked[0]!.error).to.match(/unreadable/);
    expect(levels(logger.said, "error")).to.deep.equal(Array(2).fill("gave up and parked the item"));
    expect(await rows("select process, key from work.lanes")).to.deep.equal([]);
    broken = false;
    await requestRetry(work.database, {}, new Date());
    await runner.idle();
    expect(seen.sort()).to.deep.equal(["one 1", "one 13", "other 2"]);
    expect(await rows("select 1 from work.parked")).to.deep.equal([]);
  });

  it("a key or a workspace that cannot be stored does not stop planning", async () => {
    const seen: number[] = [];
    const process = rule({
      keyOf: ({ data }) => data.key as string,
      on: { Happened: async ({ data }) => void seen.push(data.number) },
    });
    const keys = [undefined, "a\u0000b", "x".repeat(5_000), 7, "good"];
    for (const [number, key] of keys.entries()) {
      const event = newEvent("Happened", {
        number,
        ...(key !== undefined && { key: JSON.parse(JSON.stringify(key)) }),
      });
      await append(work.store, `toy-${number}`, {
        ...event,
        metadata: { ...event.metadata, workspaceId: 5 as unknown as string },
      });
    }
    await run([process]).idle();
    expect(seen).to.deep.equal([4]);
    expect((await rows("select key from work.parked order by key")).map(({ key }) => key)).to.deep.equal([
      "toy-0",
      "toy-1",
      "toy-2",
      "toy-3",
    ]);
  });

  it("a temporary fault costs planning one warning and a moment, and no new subscription", async () => {
    const faulty = faultyDatabase(work.database);
    let subscriptions = 0;
    const store: EventStore = {
      ...work.store,
      subscribe(options) {
        subscriptions += 1;
        return work.store.subscribe(options);
      },
    };
    let handled = 0;
    const logger = quietLog();
    const process = rule({
      on: {
        Happened: async () => {
          handled += 1;
        },
      },
    });
    const runner = run([process], { store, database: faulty.database, logger });
    await happen("toy-1", 1);
    await eventually(() => handled === 1);
    for (const [n, code] of ["40P01", "55P03", "away"].entries()) {
      faulty.failAt("update work.front", code);
      await happen("toy-1", n + 2);
      await eventually(() => handled === n + 2);
    }
    faulty.failAt("select name, planned from work.planned", "40P01");
    await eventually(() => levels(logger.said, "warn").length === 4);
    await runner.idle();
    expect(new Set(levels(logger.said, "warn"))).to.deep.equal(new Set(["cannot plan the event log, retrying"]));
    expect([levels(logger.said, "error"), subscriptions]).to.deep.equal([[], 1]);
  });
});
