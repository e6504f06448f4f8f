import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import type { EventStore } from "#src/eventStore/eventStore.ts";
import { createPostgresEventStore } from "#src/eventStore/postgres/store.ts";
import { connectDatabase, type Database } from "#src/platform/postgres/database.ts";
import { lowestCheckpoint } from "#src/runtime/projections/checkpoints.ts";
import { storeFilled } from "#src/runtime/projections/membership.ts";
import { ensureTables } from "#src/runtime/projections/projectionTables.ts";
import { verify } from "#src/runtime/projections/verify.ts";
import { inFull, itInFull } from "#test/support/full.ts";
import { createTestDatabase, type TestDatabase } from "#test/support/postgres.ts";
import { nodeArguments } from "../../../scripts/support/childProcess.ts";
import { accounts, addMany, append, counts, eventually, newEvent, quietLog, toyTables } from "./support.ts";

describe("subscriptions under kill -9 and SIGSTOP", () => {
  let test: TestDatabase;
  let database: Database;
  let store: EventStore;
  let directory: string;
  let lines: string;
  const children: ChildProcess[] = [];

  beforeEach(async () => {
    test = await createTestDatabase();
    database = connectDatabase(test);
    store = createPostgresEventStore({ connectionString: test.serviceUrl, logger: quietLog() });
    directory = mkdtempSync(join(tmpdir(), "countersign-"));
    lines = join(directory, "lines");
    writeFileSync(lines, "");
  });
  afterEach(async () => {
    for (const child of children.splice(0)) child.kill("SIGKILL");
    await store.close();
    await database.close();
    await test.drop();
    rmSync(directory, { recursive: true });
  });

  async function start(what: "projections" | "processes", name: string): Promise<ChildProcess> {
    const child = spawn(process.execPath, [...nodeArguments("test/runtime/projections/child.ts"), what, name], {
      env: { ...process.env, SERVICE_URL: test.serviceUrl, OWNER_URL: test.ownerUrl, LINES: lines },
      stdio: ["ignore", "pipe", "inherit"],
    });
    children.push(child);
    await once(child.stdout!, "data");
    return child;
  }

  async function makeTables(): Promise<void> {
    const serviceRole = new URL(test.serviceUrl).username;
    for (const projection of [accounts, counts])
      await ensureTables(database, { projection, ddl: await toyTables(projection), serviceRole });
  }

  const projected = () => lowestCheckpoint(database, [accounts, counts]);
  const head = () => store.head();

  async function expectExact(): Promise<void> {
    const signal = new AbortController().signal;
    for (const projection of [accounts, counts]) {
      const verified = await verify({ store, database, tablesSql: toyTables, signal }, projection);
      expect(verified.differences).to.deep.equal([]);
      expect(verified.position).to.equal(await head());
    }
    const [entries] = (await database.query("select count(*) as count from account_entries")).rows;
    expect(entries).to.deep.equal({ count: await head() });
  }

  it("there is no row without its checkpoint and no checkpoint without its rows, however often the writer is killed", async () => {
    await makeTables();
    await storeFilled(database, [accounts, counts]);
    await addMany(store, inFull ? 6_000 : 2_000);
    for (let kill = 0; kill < (inFull ? 4 : 2); kill++) {
      const before = await projected();
      const child = await start("projections", `kill-${kill}`);
      // Expires the lease: waiting for its expiry is tested elsewhere.
      await database.query("update work.leases set expires_at = now() - interval '1 s'");
      await eventually(async () => (await projected()) > before + 100);
      child.kill("SIGKILL");
      await once(child, "exit");
    }
    expect(await projected()).to.be.lessThan(await head());
    await start("projections", "last");
    await database.query("update work.leases set expires_at = now() - interval '1 s'");
    await eventually(async () => (await projected()) === (await head()));
    await expectExact();
  });

  it("a first fill that is killed leaves nothing half filled: the next start fills the read models from the beginning", async () => {
    await addMany(store, 2_000);
    await makeTables();
    const isRebuilt = async () =>
      (await database.query("select 1 from work.read_models where rebuilt_to > 0")).rows.length > 0;
    await database.transaction(async (tx) => {
      // Holds up the swap, so that the kill comes before it.
      await tx.query("select from work.checkpoints for update");
      const child = await start("projections", "killed");
      await eventually(isRebuilt);
      child.kill("SIGKILL");
      await once(child, "exit");
    });
    expect(await projected()).to.equal(0);
    await start("projections", "next");
    await eventually(async () => (await projected()) === (await head()));
    await expectExact();
    expect((await database.query("select 1 from pg_namespace where nspname like 'rebuild%'")).rows).to.deep.equal([]);
  });

  itInFull(
    "another instance takes the read models over from one that is stopped in its work, also after that one wakes",
    async () => {
      const [first, second] = await Promise.all([start("projections", "first"), start("projections", "second")]);
      const adding = addMany(store, 4_000, 10);
      await eventually(async () => (await projected()) > 200);
      const [{ holder }] = (await database.query("select holder from work.leases")).rows as [{ holder: string }];
      const stopped = holder === "first" ? first : second;
      stopped.kill("SIGSTOP");
      await adding;
      await eventually(async () => (await projected()) === (await head()));
      await expectExact();
      stopped.kill("SIGCONT");
      await addMany(store, 500, 10);
      await eventually(async () => (await projected()) === (await head()));
      await expectExact();
    },
  );

  const handled = () =>
    readFileSync(lines, "utf8")
      .trim()
      .split("\n")
      .filter(Boolean)
      .map((line) => {
        const [instance, stream, number] = line.split(" ") as [string, string, string];
        return { instance, stream, number: Number(number) };
      });

  async function happen(count: number, from = 0): Promise<void> {
    for (let number = from; number < from + count; number++) {
      await Promise.all(
        Array.from({ length: 10 }, (_, stream) => append(store, `toy-${stream}`, newEvent("Happened", { number }))),
      );
    }
  }

  /** Expects every number of each stream, in order; after a takeover the order may start again a little earlier. */
  function expectAllInOrder(count: number): void {
    for (let stream = 0; stream < 10; stream++) {
      const numbers = handled()
        .filter((line) => line.stream === `toy-${stream}`)
        .map(({ number }) => number);
      const first = numbers.filter((number, index) => numbers.indexOf(number) === index);
      expect(first).to.deep.equal(Array.from({ length: count }, (_, index) => index));
    }
  }
  const handledUpTo = (count: number) =>
    new Set(handled().map(({ stream, number }) => `${stream} ${number}`)).size === count * 10;

  it("a process continues after kill -9: no event is left out, and none handled long ago is handled again", async () => {
    const each = inFull ? 40 : 10;
    await happen(each);
    const first = await start("processes", "first");
    await eventually(() => handledUpTo(each));
    await eventually(async () => {
      const [process] = (await database.query("select planned from work.planned")).rows;
      const busy = (await database.query("select 1 from work.lanes")).rows.length > 0;
      return process?.planned === (await head()) && !busy;
    });
    first.kill("SIGKILL");
    await happen(each, each);
    await start("processes", "second");
    await eventually(() => handledUpTo(2 * each));
    expectAllInOrder(2 * each);
    const again = handled().filter(({ instance, number }) => instance === "second" && number < each);
    expect(again).to.deep.equal([]);
  });

  it("another instance takes over the claims of a stopped one, which does not continue them when it wakes", async () => {
    await Promise.all([start("processes", "first"), start("processes", "second")]);
    const [early, meanwhile, late] = inFull ? [20, 200, 50] : [5, 40, 10];
    await happen(early);
    await eventually(() => handledUpTo(early));
    const holder = handled()[0]!.instance;
    const stopped = children[holder === "first" ? 0 : 1]!;
    await happen(meanwhile, early);
    stopped.kill("SIGSTOP");
    await eventually(() => handledUpTo(early + meanwhile));
    const takenOverAt = handled().length;
    stopped.kill("SIGCONT");
    await happen(late, early + meanwhile);
    await eventually(() => handledUpTo(early + meanwhile + late));
    // The suspended instance may end the one item of each lane that it was handling; it begins none that was taken over.
    const after = handled()
      .slice(takenOverAt)
      .filter(({ instance, number }) => instance === holder && number < early + meanwhile);
    expect(after.length).to.be.at.most(10);
    expectAllInOrder(early + meanwhile + late);
  });
});
