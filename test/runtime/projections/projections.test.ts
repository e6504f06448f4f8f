import { randomUUID } from "node:crypto";
import { expect } from "chai";
import type { Projection } from "#projections/projection.ts";
import { type EventStore, Unavailable } from "#src/eventStore/eventStore.ts";
import { createPostgresEventStore } from "#src/eventStore/postgres/store.ts";
import { type BackgroundDatabase, connectDatabase, inBackground } from "#src/platform/postgres/database.ts";
import { CheckpointMoved, mainGroup, ProjectorFailed, writeBatch } from "#src/runtime/projections/checkpoints.ts";
import { storeFilled } from "#src/runtime/projections/membership.ts";
import { createProjectionRunner, type ProjectionRunner } from "#src/runtime/projections/projectionRunner.ts";
import { completeProjections, ensureTables } from "#src/runtime/projections/projectionTables.ts";
import { rebuild } from "#src/runtime/projections/rebuild.ts";
import { verify } from "#src/runtime/projections/verify.ts";
import { createWaitFor } from "#src/runtime/projections/waitFor.ts";
import { inFull } from "#test/support/full.ts";
import { createTestDatabase, type TestDatabase } from "#test/support/postgres.ts";
import {
  accounts,
  addMany,
  append,
  counts,
  cutConnections,
  eventually,
  growingTooLong,
  newEvent,
  quietLog,
  toyTables,
} from "./support.ts";

const sized = (byDefault: number, full: number): number => (inFull ? full : byDefault);

/** Options of a wait for a position that is certain to be reached: a busy machine may take its time. */
const patiently = { timeoutMs: 60_000 };

describe("the projection runner", () => {
  let test: TestDatabase;
  let database: BackgroundDatabase;
  let store: EventStore;
  const running: ProjectionRunner[] = [];
  /** Releases the lock that a test holds. Called at the end of each test, because nothing can be stopped before. */
  let letGo = (): void => {};
  const held = () =>
    new Promise<void>((resolve) => {
      letGo = resolve;
    });
  const signal = new AbortController().signal;

  beforeEach(async () => {
    test = await createTestDatabase();
    database = inBackground(connectDatabase(test));
    store = createPostgresEventStore({ connectionString: test.serviceUrl, logger: quietLog() });
  });
  afterEach(async () => {
    letGo();
    await Promise.all(running.splice(0).map((runner) => runner.stop()));
    await store.close();
    await database.close();
    await test.drop();
  });

  async function run(projections: readonly Projection[], more: object = {}): Promise<ProjectionRunner> {
    const runner = createProjectionRunner({
      ...{ store, database, projections, logger: quietLog(), instanceId: randomUUID(), tablesSql: toyTables },
      ...more,
    });
    running.push(runner);
    await runner.start();
    return runner;
  }
  const replay = () => ({ store, database, tablesSql: toyTables, signal });
  const rows = async (sql: string) => (await database.query(sql)).rows;

  async function expectExact(projection: Projection): Promise<void> {
    const verified = await verify(replay(), projection);
    expect(verified.differences).to.deep.equal([]);
    expect(verified.position).to.equal(await store.head());
    expect(verified.rows).to.be.greaterThan(0);
  }

  it("the projection runner fills its tables from the log and follows it", async () => {
    await addMany(store, 2_500);
    const runner = await run([accounts, counts]);
    await runner.caughtUp();
    await addMany(store, 100);
    await append(store, "note-1", newEvent("Noted"));
    await append(store, "other-1", newEvent("OfNoInterest"));
    await runner.caughtUp();
    await expectExact(accounts);
    expect(await rows("select type, count from type_counts order by type")).to.deep.equal([
      { type: "Added", count: 2_600 },
      { type: "Noted", count: 1 },
    ]);
    expect(runner.trouble()).to.equal(undefined);
  });

  it("new read models of a log with events are filled together, reading it once, and are one group; a line says so", async () => {
    await addMany(store, 30);
    const logger = quietLog();
    let read = 0;
    const counting: EventStore = {
      ...store,
      subscribe: (options) => {
        if ((options.after ?? 0) === 0) read += 1;
        return store.subscribe(options);
      },
    };
    const runner = await run([accounts, counts], { logger, store: counting });
    await runner.caughtUp();
    await runner.stop();
    await run([accounts, counts], { logger });
    const told = logger.said.filter(({ message }) => message.includes("filling read models"));
    expect(told.map(({ details }) => details)).to.deep.equal([{ projections: ["accounts", "counts"] }]);
    expect(read).to.equal(1);
    expect(await rows("select distinct checkpoint, rebuilt_to from work.read_models")).to.deep.equal([
      { checkpoint: "main", rebuilt_to: null },
    ]);
    for (const projection of [accounts, counts]) await expectExact(projection);
    expect(await rows("select 1 from pg_namespace where nspname like 'rebuild%'")).to.deep.equal([]);
  });

  it("a projector that fails during a fill is left out, named, and retried from there; the others are filled", async () => {
    await addMany(store, 1_500);
    let isMended = false;
    const failing: Projection = {
      ...counts,
      async project(tx, events) {
        if (!isMended && events[0]!.position > 1_000) throw new Error("no");
        await counts.project(tx, events);
      },
    };
    const runner = await run([accounts, failing], { backoff: () => 20 });
    await eventually(() => runner.failing().includes("counts"));
    await eventually(() => runner.status().find(({ name }) => name === "accounts")!.state === "following");
    await expectExact(accounts);
    const kept = "select position from work.checkpoints where name = 'counts'";
    expect(await rows(kept)).to.deep.equal([{ position: 1_000 }]);
    isMended = true;
    await runner.caughtUp();
    await expectExact(failing);
    await eventually(() => runner.failing().length === 0);
  });

  it("the projection runner continues at its checkpoint after a restart", async () => {
    const first = await run([accounts]);
    await addMany(store, 500);
    await first.caughtUp();
    await first.stop();
    await addMany(store, 500);
    await (await run([accounts])).caughtUp();
    await expectExact(accounts);
  });

  it("two runners at once count every event once, also without a lease between them", async () => {
    const other = { ...counts, version: 1 };
    // Different sets of projections hold different leases: both write `accounts`, and only the checkpoint's generation keeps them apart.
    await Promise.all([
      run([accounts]),
      run([accounts, other], { batchSize: 20 }),
      addMany(store, sized(800, 3_000), 10),
    ]);
    await Promise.all(running.map((runner) => runner.caughtUp()));
    await expectExact(accounts);
    await expectExact(counts);
  });

  it("of two equal runners one works; the other takes over when it stops", async () => {
    const [first, second] = [await run([accounts]), await run([accounts])];
    await addMany(store, 100);
    await first.caughtUp();
    const states = () => [first, second].map((runner) => runner.status()[0]!.state).sort();
    await eventually(() => states().join() === "following,standingBy");
    const [holder, standby] = first.status()[0]!.state === "following" ? [first, second] : [second, first];
    await holder.stop();
    await addMany(store, 100);
    await standby.caughtUp();
    await expectExact(accounts);
  });

  it("a projection that comes later catches up on its own and then follows with the others", async () => {
    const first = await run([accounts]);
    await addMany(store, sized(1_000, 3_000));
    await first.caughtUp();
    await first.stop();
    const both = await run([accounts, counts], { batchSize: 50 });
    await Promise.all([addMany(store, sized(200, 500), 5), both.caughtUp()]);
    await eventually(() => both.status().every(({ state }) => state === "following"));
    await addMany(store, 100);
    await both.caughtUp();
    await expectExact(accounts);
    await expectExact(counts);
  });

  it("a projector that throws holds up nobody else, skips nothing, says so, and goes on once it can", async () => {
    let broken = true;
    const moody: Projection = {
      ...counts,
      project: (tx, events) => {
        if (broken && events.some(({ type }) => type === "Noted")) throw new Error("a note I cannot read");
        return counts.project(tx, events);
      },
    };
    const runner = await run([accounts, moody]);
    await append(store, "note-1", newEvent("Noted"));
    await addMany(store, 200);
    const head = await store.head();
    await eventually(() => runner.status()[0]!.position === head);
    // Until then it catches up.
    await eventually(() => /counts is failing: .*a note I cannot read/.test(runner.trouble() ?? ""));
    expect(await rows("select * from type_counts")).to.deep.equal([]);
    broken = false;
    await eventually(() => runner.trouble() === undefined);
    await runner.caughtUp();
    await expectExact(counts);
  });

  it("the projection runner soon asks again for a database that is away, however long it has been away", async () => {
    let [away, failed] = [false, 0];
    const database_: BackgroundDatabase = {
      ...database,
      transaction: (work, ...rest) => {
        if (!away) return database.transaction(work, ...rest);
        failed += 1;
        return Promise.reject(new Unavailable("PostgreSQL is away"));
      },
    };
    const runner = await run([accounts], { database: database_, backoff: growingTooLong });
    await runner.caughtUp();
    for (let outage = 0; outage < 2; outage++) {
      [away, failed] = [true, 0];
      await addMany(store, 10);
      await eventually(() => failed > 6);
      away = false;
      await runner.caughtUp();
    }
    await expectExact(accounts);
  });

  it("the projection runner rebuilds soon after a database was away, however long", async () => {
    await (await run([accounts])).stop();
    let failed = 0;
    const logger = quietLog();
    const isRebuilding = () => logger.said.some(({ message }) => message.includes("filling read models"));
    const away: BackgroundDatabase = {
      ...database,
      owner: {
        ...database.owner,
        transaction: (work) => {
          if (!isRebuilding() || failed === 6) return database.owner.transaction(work);
          failed += 1;
          return Promise.reject(new Unavailable("PostgreSQL is away"));
        },
      },
    };
    await run([{ ...accounts, version: 2 }], { database: away, logger, backoff: growingTooLong });
    await eventually(async () => (await rows("select 1 from work.read_models where version = 2")).length === 1);
    expect(failed).to.equal(6);
  });

  it("a projector that fails three times on the same events leaves the group, which is logged once", async () => {
    const poisoned: Projection = {
      ...counts,
      project: async (tx, events) => {
        if (events.some(({ type }) => type === "Noted")) throw new Error("a note I cannot read");
        await counts.project(tx, events);
      },
    };
    const logger = quietLog();
    let hurried = true;
    const hesitant: EventStore = {
      ...store,
      // The group reads on late, so that the one that left finds it where it was.
      async *subscribe(options) {
        if (hurried && logger.said.some(({ message }) => message.startsWith("a read model has left"))) {
          hurried = false;
          await new Promise((resolve) => setTimeout(resolve, 300));
        }
        yield* store.subscribe(options);
      },
    };
    const runner = await run([accounts, poisoned], { logger, store: hesitant });
    await addMany(store, 50);
    await runner.caughtUp();
    await append(store, "note-1", newEvent("Noted"));
    const position = await append(store, "account-1", newEvent("Added", { amount: 1 }));
    const waitFor = createWaitFor({ database, projections: [accounts, poisoned] });
    expect(await waitFor.projected(position, { of: ["accounts"], ...patiently })).to.equal(true);
    expect(await waitFor.projected(position, { of: ["counts"], timeoutMs: 100 })).to.equal(false);
    const said = (level: string) => logger.said.filter((line) => line.level === level).map(({ message }) => message);
    expect(said("error").slice(0, 4)).to.deep.equal([
      ...Array(3).fill("a projection fails on these events, retrying"),
      "a read model has left the others, which go on: only what is answered from it answers 503",
    ]);
    expect(said("error").filter((message) => message.startsWith("a read model has left"))).to.have.length(1);
    await expectExact(accounts);
    waitFor.close();
  });

  it("a failed write is blamed on its projector, not on those in the same batch, and the batch is undone", async () => {
    const toys = [accounts, counts];
    for (const projection of toys) {
      const ddl = await toyTables(projection);
      await ensureTables(database, { projection, ddl, serviceRole: new URL(test.serviceUrl).username });
    }
    await storeFilled(database, toys);
    const refused: Projection = {
      ...counts,
      async project(tx, events) {
        await counts.project(tx, events);
        tx.write("insert into type_counts (type, count) values ('too many', 1 / $1::int)", [0]);
      },
    };
    const position = await append(store, "account-1", newEvent("Added", { amount: 1 }));
    const batch = { events: await store.read("account-1"), position, caughtUp: true };
    for (const together of [
      [accounts, refused],
      [refused, accounts],
    ]) {
      const checkpoint = { name: mainGroup, position: 0, generation: 3 };
      const error = await writeBatch(database, { checkpoint, projections: together }, batch).catch((thrown) => thrown);
      expect(error).to.be.instanceOf(ProjectorFailed).and.to.include({ projection: "counts" });
      expect(error.message).to.match(/division by zero/);
      expect(checkpoint.position).to.equal(0);
    }
    for (const table of ["account_totals", "type_counts"])
      expect(await rows(`select * from ${table}`)).to.deep.equal([]);
    expect(await rows("select distinct position from work.checkpoints")).to.deep.equal([{ position: 0 }]);
  });

  it("a batch of all projectors is written without waiting between them: begin, statements, commit", async () => {
    const toys = [accounts, counts];
    for (const projection of toys) {
      const ddl = await toyTables(projection);
      await ensureTables(database, { projection, ddl, serviceRole: new URL(test.serviceUrl).username });
    }
    await storeFilled(database, toys);
    const position = await append(store, "account-1", newEvent("Added", { amount: 1 }));
    const batch = { events: await store.read("account-1"), position, caughtUp: true };
    // A pool that the test observes, with the settings of the background pool.
    const watched = connectDatabase(test);
    const client = await watched.pool.connect();
    let [unanswered, roundTrips] = [0, 0];
    const query = client.query.bind(client) as (statement: object, answered: (...given: unknown[]) => void) => void;
    client.query = ((statement: object, answered: (...given: unknown[]) => void) => {
      if (unanswered === 0) roundTrips += 1;
      unanswered += 1;
      query(statement, (...given) => {
        unanswered -= 1;
        answered(...given);
      });
    }) as never;
    client.release();
    const stored = { name: mainGroup, position: 0, generation: 3 };
    await writeBatch(watched, { checkpoint: { ...stored }, projections: toys }, batch);
    await watched.close();
    expect(roundTrips).to.equal(3);
    for (const other of [stored, { ...stored, position }]) {
      const generation = other.position === 0 ? 3 : 2;
      const late = { checkpoint: { ...other, generation }, projections: toys };
      const further = { ...batch, position: position + 1 };
      expect(await writeBatch(database, late, further).catch((error) => error)).to.be.instanceOf(CheckpointMoved);
    }
    await expectExact(accounts);
  });

  it("rows that a crashed server lost are written again without new events, and no position is announced before", async () => {
    const beside: Projection = { ...counts, independent: true };
    let reached: ReadonlyMap<string, number>[] = [];
    const logger = quietLog();
    const runner = await run([accounts, beside], { logger, onProjected: (told: never) => reached.push(told) });
    await addMany(store, 100);
    await runner.caughtUp();
    const head = await store.head();
    await eventually(() => ["accounts", "counts"].every((name) => reached.at(-1)?.get(name) === head));
    await database.owner.transaction(async (tx) => {
      await tx.query("truncate account_totals, account_entries, type_counts");
      await tx.query("update work.checkpoints set position = 0");
    });
    reached = [];
    await cutConnections(database);
    await eventually(() => ["accounts", "counts"].every((name) => reached.at(-1)?.get(name) === head));
    expect(reached[0]).to.deep.equal(new Map());
    for (const projection of [accounts, counts]) await expectExact(projection);
    expect(runner.trouble()).to.equal(undefined);
    expect(logger.said.map(({ message }) => message)).to.include(
      "checkpoints have moved, continuing from their current positions",
    );
  });

  it("the projection runner continues at its position after connections broke and nothing was lost", async () => {
    const logger = quietLog();
    let reached: ReadonlyMap<string, number>[] = [];
    const runner = await run([accounts, counts], { logger, onProjected: (told: never) => reached.push(told) });
    await addMany(store, 100);
    await runner.caughtUp();
    reached = [];
    await cutConnections(database);
    // A cut connection without a statement leaves no outcome unknown: only later events are reported.
    await runner.caughtUp();
    await addMany(store, 50);
    const head = await store.head();
    await eventually(() => ["accounts", "counts"].every((name) => reached.at(-1)?.get(name) === head));
    for (const projection of [accounts, counts]) await expectExact(projection);
    expect(logger.said.map(({ message }) => message)).not.to.include(
      "checkpoints have moved, continuing from their current positions",
    );
  });

  const checkpoints = () =>
    rows("select name, checkpoint from work.read_models order by name").then((found) =>
      found.map(({ name, checkpoint }) => `${name} at ${checkpoint}`),
    );

  it("read models that are served together share one checkpoint and one transaction: no reader sees one ahead of another", async () => {
    const runner = await run([accounts, counts], { batchSize: 20 });
    let more = true;
    const seen: unknown[] = [];
    const looking = (async () => {
      const sums =
        "select coalesce((select sum(entries) from account_totals), 0) - coalesce((select sum(count) from type_counts), 0) as ahead";
      while (more) seen.push(...(await rows(sums)).map(({ ahead }) => Number(ahead)));
    })();
    await addMany(store, sized(600, 3_000), 10);
    await runner.caughtUp();
    more = false;
    await looking;
    expect(seen.length).to.be.greaterThan(10);
    expect(new Set(seen)).to.deep.equal(new Set([0]));
    expect(await checkpoints()).to.deep.equal(["accounts at main", "counts at main"]);
    expect(await rows("select name from work.checkpoints")).to.deep.equal([{ name: "main" }]);
  });

  it("a read model that left the main group has a checkpoint of its own until it rejoins at the group's position, also after a restart", async () => {
    let broken = true;
    const moody: Projection = {
      ...counts,
      project: async (tx, events) => {
        if (broken && events.some(({ type }) => type === "Noted")) throw new Error("a note I cannot read");
        await counts.project(tx, events);
      },
    };
    const first = await run([accounts, moody]);
    await append(store, "note-1", newEvent("Noted"));
    await eventually(async () => (await checkpoints()).includes("counts at counts"));
    await first.stop();
    await addMany(store, 2_500);
    const second = await run([accounts, moody], { backoff: () => 10 });
    await eventually(async () => second.status()[0]!.position === (await store.head()));
    expect(await checkpoints()).to.deep.equal(["accounts at main", "counts at counts"]);
    broken = false;
    await eventually(async () => (await checkpoints()).includes("counts at main"));
    expect(await rows("select name from work.checkpoints")).to.deep.equal([{ name: "main" }]);
    await eventually(() => second.status().every(({ state }) => state === "following"));
    for (const projection of [accounts, counts]) await expectExact(projection);
  });

  it("a main group with a read model that an instance does not know is left to the instance that does, and taken over once that is gone", async () => {
    const older = await run([accounts]);
    await addMany(store, 50);
    await older.caughtUp();
    const newer = await run([accounts, counts]);
    await eventually(async () => (await checkpoints()).includes("counts at main"));
    await addMany(store, 50);
    await Promise.all([older.caughtUp(), newer.caughtUp()]);
    await eventually(() => older.status()[0]!.state === "standingBy");
    for (const projection of [accounts, counts]) await expectExact(projection);
    await newer.stop();
    await addMany(store, 50);
    await eventually(async () => older.status()[0]!.position === (await store.head()));
    expect(await checkpoints()).to.deep.equal(["accounts at main", "counts at counts"]);
    await expectExact(accounts);
    await run([accounts, counts]);
    await eventually(async () => (await checkpoints()).includes("counts at main"));
    await expectExact(counts);
  });

  it("a rebuild while nobody writes leaves the read model at the position of its group", async () => {
    const runner = await run([accounts, counts]);
    await addMany(store, 50);
    await runner.caughtUp();
    await runner.stop();
    const position = await store.head();
    await addMany(store, 50);
    await rebuild(replay(), [accounts]);
    expect(await checkpoints()).to.deep.equal(["accounts at main", "counts at main"]);
    expect(await rows("select name, position from work.checkpoints")).to.deep.equal([{ name: "main", position }]);
    expect((await verify(replay(), accounts)).differing).to.equal(0);
  });

  it("read models whose rows a dump lost are all rebuilt, and are one group again", async () => {
    const toys = [accounts, { ...counts, independent: true as const }];
    const before = await run(toys);
    await addMany(store, 1_500);
    await before.caughtUp();
    await before.stop();
    await database.owner.query("truncate read.account_totals, read.account_entries, read.type_counts");
    await database.owner.query("update work.checkpoints set position = 0, generation = generation + 1");
    await database.owner.query("update work.read_models set version = 0");
    const after = await run(toys);
    await eventually(() => after.status().every(({ state }) => state === "following"));
    await append(store, "account-1", newEvent("Added", { amount: 1 }));
    await after.caughtUp();
    for (const projection of toys) await expectExact(projection);
    expect(await checkpoints()).to.deep.equal(["accounts at main", "counts at counts"]);
  });

  it("an independent read model that is slow delays no other, and writes together what arrived meanwhile", async () => {
    const batches: number[] = [];
    let gate = Promise.resolve();
    const slow: Projection = {
      ...counts,
      independent: true,
      project: async (tx, events) => {
        batches.push(events.length);
        await gate;
        await counts.project(tx, events);
      },
    };
    const runner = await run([accounts, slow]);
    const waitFor = createWaitFor({ database, projections: [accounts, slow] });
    await eventually(() => runner.status().every(({ state }) => state === "following"));
    // An event that the read model does not handle moves only its checkpoint.
    const nothing = await append(store, "other-1", newEvent("OfNoInterest"));
    expect(await waitFor.projected(nothing, { of: ["counts"], ...patiently })).to.equal(true);
    expect(batches).to.deep.equal([]);
    gate = held();
    for (let times = 0; times < 5; times++) {
      const position = await append(store, "account-1", newEvent("Added", { amount: 1 }));
      expect(await waitFor.projected(position, patiently)).to.equal(true);
    }
    expect(await rows("select entries from account_totals")).to.deep.equal([{ entries: 5 }]);
    expect(await rows("select * from type_counts")).to.deep.equal([]);
    expect(await waitFor.projected(await store.head(), { of: ["counts"], timeoutMs: 20 })).to.equal(false);
    letGo();
    expect(await waitFor.projected(await store.head(), { of: ["counts"], ...patiently })).to.equal(true);
    expect(batches).to.deep.equal([1, 4]);
    expect(runner.trouble()).to.equal(undefined);
    await expectExact(slow);
    waitFor.close();
  });

  it("an independent read model that falls far behind catches up", async () => {
    const gate = held();
    let isSlow = false;
    const slow: Projection = {
      ...counts,
      independent: true,
      project: async (tx, events) => {
        if (isSlow) await gate;
        await counts.project(tx, events);
      },
    };
    const runner = await run([accounts, slow]);
    await eventually(() => runner.status().every(({ state }) => state === "following"));
    isSlow = true;
    // More events than one batch.
    for (let times = 0; times < 5; times++) await addMany(store, 600, 100);
    await eventually(() => runner.status()[0]!.position > 2_500);
    letGo();
    await runner.caughtUp();
    await eventually(() => runner.status().every(({ state }) => state === "following"));
    await append(store, "account-1", newEvent("Added", { amount: 1 }));
    await runner.caughtUp();
    await expectExact(slow);
  });

  it("tables are made without a lock on appends, and tried again while somebody reads them", async () => {
    const { projection, ddl } = { projection: accounts, ddl: await toyTables(accounts) };
    const serviceRole = (await rows("select current_user as role"))[0]!.role as string;
    const making = { projection, ddl, serviceRole };
    expect(await ensureTables(database, making)).to.equal("toBeRebuilt");
    await database.owner.query("delete from work.read_models");
    const reading = held();
    let reader: Promise<void> | undefined;
    await new Promise<void>((reads) => {
      reader = database.transaction(async (tx) => {
        await tx.query("select 1 from account_totals");
        reads();
        await reading;
      });
    });
    const made = ensureTables(database, making);
    const waits = async () =>
      (await rows("select 1 from pg_locks where not granted and relation = 'read.account_totals'::regclass")).length >
      0;
    await eventually(waits);
    await append(store, "account-1", newEvent("Added", { amount: 1 }));
    expect(await waits(), "until it has given way once").to.equal(true);
    await eventually(async () => !(await waits()));
    letGo();
    await reader;
    expect(await made).to.equal("toBeRebuilt");
  });

  it("dropped tables are made again, and tables of another version are rebuilt", async () => {
    const first = await run([accounts]);
    await addMany(store, 300);
    await first.caughtUp();
    await first.stop();
    await database.owner.query("drop table read.account_entries");
    const second = await run([accounts]);
    await second.caughtUp();
    await expectExact(accounts);
    await second.stop();
    await database.owner.query("update read.account_totals set total = -1");
    const changed = { ...accounts, version: 2 };
    const third = await run([changed]);
    await eventually(() => third.status()[0]!.state === "following");
    await third.caughtUp();
    await expectExact(changed);
    expect(await rows("select version from work.read_models")).to.deep.equal([{ version: 2 }]);
  });

  it("one query finds which projections are complete", async () => {
    const sound = async (...asked: Projection[]) => [...(await completeProjections(database, asked))].sort();
    expect(await sound(accounts, counts)).to.deep.equal([]);
    await (await run([accounts, counts])).caughtUp();
    await eventually(async () => (await sound(accounts, counts)).length === 2);
    expect(await sound(accounts, counts)).to.deep.equal([accounts.name, counts.name].sort());
    expect(await sound({ ...accounts, version: 2 }, counts)).to.deep.equal([counts.name]);
    await database.owner.query("drop table read.account_entries");
    expect(await sound(accounts, counts)).to.deep.equal([counts.name]);
  });

  it("tables that a newer instance has rebuilt are not changed", async () => {
    const old = await run([accounts]);
    await addMany(store, 100);
    await old.caughtUp();
    const newer = await run([{ ...accounts, version: 2 }]);
    await eventually(() => newer.status()[0]!.state === "following");
    await addMany(store, 100);
    await newer.caughtUp();
    await eventually(() => old.status()[0]!.state === "outdated");
    await expectExact({ ...accounts, version: 2 });
  });

  it("the projection runner survives cut connections", async () => {
    const runner = await run([accounts, counts]);
    const adding = addMany(store, sized(1_000, 2_000), 10);
    for (let cut = 0; cut < 10; cut++) {
      await cutConnections(database);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await adding;
    await eventually(() =>
      runner.caughtUp().then(
        () => true,
        () => false,
      ),
    );
    await expectExact(accounts);
  });

  it("a rebuild during writes leaves identical tables, and grants kept", async () => {
    const runner = await run([accounts, counts]);
    await addMany(store, sized(500, 2_000));
    await database.owner.query(
      "grant select (account) on read.account_totals to public; grant select on read.account_entries to public",
    );
    const grants = () =>
      rows(
        "select relname, relacl::text from pg_class where relname in ('account_totals', 'account_entries') order by 1",
      );
    const before = (await grants()).map(({ relacl }) => relacl.split(/[{},]/).sort());
    let more = true;
    const writing = (async () => {
      while (more) await addMany(store, 50, 5);
    })();
    for (let times = 0; times < sized(1, 3); times++) {
      await rebuild(replay(), [accounts]);
      await rebuild(replay(), [counts]);
    }
    more = false;
    await writing;
    await runner.caughtUp();
    await expectExact(accounts);
    await expectExact(counts);
    expect((await grants()).map(({ relacl }) => relacl.split(/[{},]/).sort())).to.deep.equal(before);
    expect(await rows("select nspname from pg_namespace where nspname like 'rebuild%'")).to.deep.equal([]);
  });

  it("a rebuild whose connection broke has lost its locks, and writes nothing into the tables of the next", async () => {
    await addMany(store, 2_500);
    await run([accounts]);
    const reached = held();
    const open = letGo;
    const gate = held();
    let batches = 0;
    const slow: Projection = {
      ...accounts,
      async project(tx, events) {
        batches += 1;
        if (batches === 2) {
          open();
          await gate;
        }
        await accounts.project(tx, events);
      },
    };
    const ofBroken = inBackground(connectDatabase(test));
    const broken = rebuild({ ...replay(), database: ofBroken }, [slow]).catch((error: Error) => error);
    await reached;
    const { rowCount } = await database.owner.query(
      `select pg_terminate_backend(pid) from pg_locks
       where locktype = 'advisory' and classid = 727276 and granted and database = (select oid from pg_database where datname = current_database())`,
    );
    expect(rowCount).to.equal(1);
    await rebuild(replay(), [accounts]);
    letGo();
    expect(await broken).to.be.instanceOf(Error);
    await ofBroken.close();
    await expectExact(accounts);
    await rebuild(replay(), [accounts]);
    await expectExact(accounts);
    expect(await rows("select nspname from pg_namespace where nspname like 'rebuild%'")).to.deep.equal([]);
  });

  it("verify finds a row changed, one missing and one too many", async () => {
    const runner = await run([accounts]);
    await addMany(store, 200);
    await runner.caughtUp();
    await database.query("update account_totals set total = total + 1 where account = 'account-1'");
    await database.query("delete from account_entries where amount = 7");
    await database.query("insert into account_entries values (-1, 'nobody', 5)");
    const { differing, differences } = await verify(replay(), accounts);
    expect(differing).to.equal(4);
    expect(differences.map(({ table, side }) => `${table} ${side}`)).to.deep.equal([
      "account_totals live",
      "account_totals replayed",
      "account_entries live",
      "account_entries replayed",
    ]);
    expect(differences[2]!.row).to.include('"nobody"');
  });

  it("verify compares at the position of the live tables while they go on being written", async () => {
    await run([accounts]);
    let more = true;
    const writing = (async () => {
      while (more) await addMany(store, 50, 5);
    })();
    for (let times = 0; times < sized(2, 5); times++) expect((await verify(replay(), accounts)).differing).to.equal(0);
    more = false;
    await writing;
  });

  it("a waiter learns of its position from this instance's runner, from another's, and of its time limit", async () => {
    const waitFor = createWaitFor({ database, projections: [accounts, counts] });
    const elsewhere = createWaitFor({ database, projections: [accounts, counts] });
    await run([accounts, counts], { onProjected: waitFor.reached });
    for (let times = 0; times < sized(5, 20); times++) {
      const position = await append(store, "account-1", newEvent("Added", { amount: 1 }));
      expect(
        await Promise.all([waitFor.projected(position, patiently), elsewhere.projected(position, patiently)]),
      ).to.deep.equal([true, true]);
      expect(await rows("select entries from account_totals")).to.deep.equal([{ entries: times + 1 }]);
    }
    const never = (await store.head()) + 1_000;
    expect(await waitFor.projected(never, { timeoutMs: 50 })).to.equal(false);
    expect(await elsewhere.projected(never, { signal: AbortSignal.timeout(50) })).to.equal(false);
    waitFor.close();
    elsewhere.close();
  });

  it("a loop pauses once it has written all there was, writes together what arrived meanwhile, and still stops at once", async () => {
    const batches: number[] = [];
    const counted: Projection = {
      ...accounts,
      project: async (tx, events) => {
        batches.push(events.length);
        await accounts.project(tx, events);
      },
    };
    const waitFor = createWaitFor({
      database,
      projections: [counted],
      pauseMs: { main: 3_600_000, independent: 3_600_000 },
    });
    const { pauseUnlessAwaited, reached: onProjected } = waitFor;
    const runner = await run([counted], { pauseUnlessAwaited, onProjected });
    await eventually(() => runner.status().every(({ state }) => state === "following"));
    const add = (): Promise<number> => append(store, "account-1", newEvent("Added", { amount: 1 }));
    await waitFor.projected(await add());
    batches.length = 0;
    await add();
    await add();
    const position = await add();
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(batches).to.deep.equal([]);
    expect(await waitFor.projected(position, patiently)).to.equal(true);
    expect(batches.reduce((sum, size) => sum + size, 0)).to.equal(3);
    await runner.stop();
    waitFor.close();
  });
});
