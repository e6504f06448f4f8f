import { randomUUID } from "node:crypto";
import { expect } from "chai";
import type { Projection } from "#projections/projection.ts";
import { type EventStore, Unavailable } from "#src/eventStore/eventStore.ts";
import { createPostgresEventStore } from "#src/eventStore/postgres/store.ts";
import { type BackgroundDatabase, connectDatabase, inBackground } from "#src/platform/postgres/database.ts";
import { createProjectionRunner, type ProjectionRunner } from "#src/runtime/projections/projectionRunner.ts";
import { createReadiness } from "#src/runtime/projections/readiness.ts";
import { rebuild } from "#src/runtime/projections/rebuild.ts";
import { verify } from "#src/runtime/projections/verify.ts";
import { createTestDatabase, type TestDatabase } from "#test/support/postgres.ts";
import { accounts, addMany, append, counts, eventually, newEvent, quietLog, toyTables } from "./support.ts";

describe("the first fill of read models", () => {
  let test: TestDatabase;
  let database: BackgroundDatabase;
  /** Connections of another instance. */
  let elsewhere: BackgroundDatabase | undefined;
  let store: EventStore;
  const running: ProjectionRunner[] = [];
  let letGo = (): void => {};
  const beside: Projection = { ...counts, independent: true };

  beforeEach(async () => {
    test = await createTestDatabase();
    database = inBackground(connectDatabase(test));
    store = createPostgresEventStore({ connectionString: test.serviceUrl, logger: quietLog() });
    letGo = () => {};
    await addMany(store, 2_500, 500);
  });
  afterEach(async () => {
    letGo();
    await Promise.all(running.splice(0).map((runner) => runner.stop()));
    await store.close();
    await elsewhere?.close();
    elsewhere = undefined;
    await database.close();
    await test.drop();
  });

  async function run(projections: readonly Projection[], more: object = {}): Promise<ProjectionRunner> {
    const runner = createProjectionRunner({
      ...{ store, database, projections, logger: quietLog(), instanceId: randomUUID(), tablesSql: toyTables },
      ...{ backoff: () => 10, ...more },
    });
    running.push(runner);
    await runner.start();
    return runner;
  }
  const follow = (runner: ProjectionRunner): Promise<void> =>
    eventually(() => runner.status().every(({ state }) => state === "following"));
  const rows = async (sql: string) => (await database.query(sql)).rows;
  const replay = () => ({ store, database, tablesSql: toyTables, signal: new AbortController().signal });

  async function expectExact(...projections: Projection[]): Promise<void> {
    for (const projection of projections) {
      const { differences, position, rows: compared } = await verify(replay(), projection);
      expect([differences, position]).to.deep.equal([[], await store.head()]);
      expect(compared).to.be.greaterThan(0);
    }
  }

  const versionOf = async (name: string): Promise<number> =>
    (await rows(`select version from work.read_models where name = '${name}'`))[0]!.version;

  /** Holds what a statement locks, as a long read does, until it is released. */
  async function held(sql: string): Promise<{ release(): Promise<void> }> {
    let release = (): void => {};
    const released = new Promise<void>((resolve) => {
      letGo = release = resolve;
    });
    let lock = (): void => {};
    const locked = new Promise<void>((resolve) => {
      lock = resolve;
    });
    const reading = database.owner.transaction(async (tx) => {
      await tx.query(sql);
      lock();
      await released;
    });
    await locked;
    return {
      async release() {
        release();
        await reading;
      },
    };
  }

  /** Makes a projection that waits before its second batch until the test lets it go. */
  function gated(projection: Projection): Projection {
    const gate = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    let batches = 0;
    return {
      ...projection,
      async project(tx, events) {
        batches += 1;
        if (batches > 1) await gate;
        await projection.project(tx, events);
      },
    };
  }

  it("every instance says how far the fill is, until it is done", async () => {
    const readiness = createReadiness({
      ...{ database, store, projections: [accounts, counts], log: quietLog() },
      ...{ catchingUpEveryMs: 2, everyMs: 2, momentMs: 5 },
    });
    try {
      await run([accounts, gated(counts)]);
      await readiness.start();
      const sentence = () => readiness.obstacle(["accounts"])?.sentence;
      await eventually(() => /at [1-9]/.test(readiness.catchingUp() ?? ""));
      expect(readiness.catchingUp()).to.match(/at (20|40) % \(position (500|1000) of 2500\)$/);
      expect(sentence()).to.match(/catching up with its event log: (20|40) % /);
      expect(await rows("select 1 from read.account_totals")).to.deep.equal([]);
      letGo();
      await eventually(() => readiness.catchingUp() === undefined);
      expect(sentence()).to.equal(undefined);
    } finally {
      await readiness.stop();
    }
  });

  for (const place of ["first", "last"])
    it(`a read model that is filled after the others follows with them at once, not with the next event: the ${place} one`, async () => {
      await append(store, "note-1", newEvent("Noted"));
      let broken = true;
      const moody: Projection = {
        ...counts,
        async project(tx, events) {
          await counts.project(tx, events);
          if (broken && events.some(({ type }) => type === "Noted")) tx.write("select 1 / $1::int", [0]);
        },
      };
      const runner = await run(place === "last" ? [accounts, moody] : [moody, accounts]);
      const ofAccounts = () => runner.status().find(({ name }) => name === "accounts")!;
      await eventually(() => ofAccounts().state === "following");
      await eventually(() => runner.failing().includes("counts"));
      expect(runner.failing()).to.deep.equal(["counts"]);
      expect(runner.trouble()).to.match(/^counts is failing: counts failed on .* division by zero/);
      await addMany(store, 20);
      await eventually(async () => ofAccounts().position === (await store.head()));
      await expectExact(accounts);
      broken = false;
      await follow(runner);
      expect(runner.trouble()).to.equal(undefined);
      await runner.caughtUp();
      await expectExact(accounts, counts);
      expect(await rows("select name from work.checkpoints")).to.deep.equal([{ name: "main" }]);
    });

  it("of two instances one fills, and the other finds everything filled", async () => {
    const filled: string[] = [];
    const noted = (name: string, projection: Projection): Projection => ({
      ...projection,
      async project(tx, events) {
        if (events[0]?.position === 1) filled.push(name);
        await projection.project(tx, events);
      },
    });
    const slow = gated(noted("first", counts));
    const first = await run([accounts, slow]);
    await eventually(() => filled.length > 0);
    elsewhere = inBackground(connectDatabase(test));
    const second = await run([accounts, noted("second", counts)], { database: elsewhere });
    letGo();
    const isDone = ({ state }: { state: string }) => ["following", "standingBy"].includes(state);
    await eventually(() => [first, second].every((runner) => runner.status().every(isDone)));
    await Promise.all([first.caughtUp(), second.caughtUp()]);
    expect(filled).to.deep.equal(["first"]);
    await expectExact(accounts, counts);
  });

  it("an instance that waits for another one's fill stops at once", async () => {
    await run([accounts, gated(counts)]);
    await eventually(async () => (await rows("select rebuilt_to from work.read_models"))[0]!.rebuilt_to > 0);
    elsewhere = inBackground(connectDatabase(test));
    const logger = quietLog();
    const second = await run([accounts, counts], { database: elsewhere, logger });
    await eventually(() => logger.said.some(({ message }) => message.startsWith("filling")));
    await second.stop();
    expect(await rows("select 1 from read.account_entries"), "the first one still fills").to.deep.equal([]);
    letGo();
  });

  it("a fill goes on where it was after the event store was away, and appends meanwhile are in it", async () => {
    let away = 0;
    let read = 0;
    const leaving: EventStore = {
      ...store,
      async *subscribe(options) {
        if ((options.after ?? 0) === 0) read += 1;
        for await (const batch of store.subscribe(options)) {
          yield batch;
          if (options.batchSize === undefined || away === 3) continue;
          away += 1;
          await addMany(store, 10);
          throw new Unavailable("the event store is away");
        }
      },
    };
    const runner = await run([accounts, beside], { store: leaving });
    await follow(runner);
    expect(away).to.equal(3);
    expect(read, "times that the log was read from its beginning").to.equal(1);
    await runner.caughtUp();
    await expectExact(accounts, beside);
  });

  it("a fill that goes on writes nothing twice, also beside a read model whose projector failed before", async () => {
    let away = 0;
    const leaving: EventStore = {
      ...store,
      async *subscribe(options) {
        for await (const batch of store.subscribe(options)) {
          yield batch;
          away += 1;
          if (away === 2) throw new Unavailable("the event store is away");
        }
      },
    };
    const failing: Projection = {
      ...counts,
      name: "failing",
      tables: [],
      project: () => Promise.reject(new Error("a bug")),
    };
    const waited: object[] = [];
    const options = { ...replay(), store: leaving, onWaiting: (details: object) => void waited.push(details) };
    const failed = await rebuild(options, [failing, accounts, beside]);
    expect([...failed.keys()]).to.deep.equal(["failing"]);
    expect(waited).to.have.length(1);
    expect(away).to.be.greaterThan(2);
    await expectExact(accounts, beside);
  });

  it("tables of an older version stay if the projector fails on what arrived while the new ones waited", async () => {
    const old = await run([accounts, beside]);
    await follow(old);
    await old.stop();
    let tried = 0;
    const failing: Projection = {
      ...beside,
      version: 2,
      async project(tx, events) {
        if (events.some(({ type }) => type === "Noted")) {
          tried += 1;
          throw new Error("a bug of version 2");
        }
        await beside.project(tx, events);
      },
    };
    const reader = await held("select 1 from read.type_counts");
    const runner = await run([{ ...accounts, version: 2 }, failing]);
    await eventually(async () => (await versionOf("accounts")) === 2);
    await append(store, "note-1", newEvent("Noted"));
    await eventually(() => tried > 0);
    await reader.release();
    await eventually(() => runner.failing().includes("counts"));
    expect(runner.failing()).to.deep.equal(["counts"]);
    expect(await versionOf("counts")).to.equal(1);
    expect(await rows("select type, count from type_counts")).to.deep.equal([{ type: "Added", count: 2_500 }]);
  });

  it("what is in place is written while the rest waits for it, here and where another instance fills", async () => {
    const runner = await run([accounts, beside]);
    await follow(runner);
    await runner.stop();
    const next = [accounts, beside].map((projection) => ({ ...projection, version: 2 }));
    const reader = await held("select 1 from read.type_counts");
    const runners = [await run(next)];
    elsewhere = inBackground(connectDatabase(test));
    runners.push(await run(next, { database: elsewhere }));
    await eventually(async () => (await versionOf("accounts")) === 2);
    await addMany(store, 20);
    const head = await store.head();
    await eventually(() => runners.some((one) => one.status()[0]!.position === head));
    expect(await versionOf("counts"), "still being read").to.equal(1);
    expect(
      runners.flatMap((one) => one.failing()),
      "nobody has given up",
    ).to.deep.equal([]);
    expect(
      await rows("select name from work.checkpoints where position = (select max(position) from es.events)"),
    ).to.deep.equal([{ name: "main" }]);
    await reader.release();
    for (const one of runners) await one.caughtUp();
    await eventually(async () => (await versionOf("counts")) === 2);
    await Promise.all(runners.map((one) => one.caughtUp()));
    await expectExact(...next);
  });

  it("new tables that cannot be put in place are named; the others are put in place all the same", async () => {
    const runner = await run([accounts, beside]);
    await follow(runner);
    await database.owner.query("create view report as select * from read.account_totals");
    const next = [accounts, beside].map((projection) => ({ ...projection, version: 2 }));
    const failed = await rebuild(replay(), next);
    expect([...failed.keys()]).to.deep.equal(["accounts"]);
    expect(failed.get("accounts")!.message).to.match(/because other objects depend/);
    expect([await versionOf("accounts"), await versionOf("counts")]).to.deep.equal([1, 2]);
    await database.owner.query("drop view report");
    expect(await rebuild(replay(), next)).to.deep.equal(new Map());
    await expectExact(...next);
    expect(await rows("select 1 from pg_namespace where nspname like 'rebuild%'")).to.deep.equal([]);
  });

  it("a projector of a new version that fails leaves the complete tables of the old version in place", async () => {
    await append(store, "note-1", newEvent("Noted"));
    await addMany(store, 20);
    await follow(await run([accounts, counts]));
    const before = await rows("select * from type_counts order by type");
    const failing: Projection = {
      ...counts,
      version: 2,
      project: async () => {
        throw new Error("a bug of version 2");
      },
    };
    const next = await run([accounts, failing]);
    await eventually(() => next.failing().includes("counts"));
    expect(await rows("select * from type_counts order by type")).to.deep.equal(before);
    expect(await rows("select version from work.read_models where name = 'counts'")).to.deep.equal([{ version: 1 }]);
  });

  it("a fill during which a connection broke is not put in place: the server may have lost some of its commits", async () => {
    await addMany(store, 2_500);
    const locks = `select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and classid = 727276 and granted
      and database = (select oid from pg_database where datname = current_database())`;
    let passes = 0;
    const breaking: Projection = {
      ...accounts,
      async project(tx, events) {
        await accounts.project(tx, events);
        if (events[0]!.position > 1) return;
        passes += 1;
        if (passes === 1) await database.owner.query(locks);
      },
    };
    const runner = await run([breaking]);
    await follow(runner);
    expect(passes, "times that the log was read from its beginning").to.equal(2);
    await expectExact(accounts);
  });
});
