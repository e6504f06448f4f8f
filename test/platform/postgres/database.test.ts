import { randomUUID } from "node:crypto";
import { expect } from "chai";
import pg from "pg";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { connectDatabase, type Database, type Sql } from "#src/platform/postgres/database.ts";
import { createTestDatabase, type TestDatabase } from "#test/support/postgres.ts";

const failureOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => expect.fail("it succeeded"),
    (error) => error,
  );

describe("the database", () => {
  let server: TestDatabase;
  let database: Database;
  before(async () => {
    server = await createTestDatabase();
    database = connectDatabase(server, { statementTimeoutMs: 2_000 });
    await database.owner.query("create schema if not exists read");
    await database.owner.query("create table read.numbers (number bigint primary key deferrable initially deferred)");
    await database.owner.query(`grant usage on schema read to ${server.serviceRole}`);
    await database.owner.query(`grant select, insert on read.numbers to ${server.serviceRole}`);
  });
  after(async () => {
    await database.close();
    await server.drop();
  });

  const numbers = async () =>
    (await database.query("select number from numbers order by number")).rows.map((row) => row.number);

  it("both database roles find read models without their schema", async () => {
    expect((await database.query("select count(*) as count from numbers")).rows).to.deep.equal([{ count: 0 }]);
    expect((await database.owner.query("select count(*) as count from numbers")).rows).to.deep.equal([{ count: 0 }]);
  });

  it("the database keeps connections for read models and processes, however many others hold", async () => {
    const few = connectDatabase(server, { maxConnections: 2 });
    const held = await Promise.all([few.pool.connect(), few.pool.connect()]);
    try {
      expect((await few.background.query("select 1 as one")).rows).to.deep.equal([{ one: 1 }]);
    } finally {
      for (const client of held) client.release();
      await few.close();
    }
  });

  it("a statement is planned once a connection, but reads are planned by their filters", async () => {
    const show = "select current_setting('plan_cache_mode') as mode";
    const { pool, background, reads } = database;
    const modes = await Promise.all([pool.query(show), background.query(show), reads.of(randomUUID()).query(show)]);
    expect(modes.map(({ rows }) => rows[0].mode)).to.deep.equal(["force_generic_plan", "force_generic_plan", "auto"]);
  });

  it("runners' connections do not wait for the disk, hold no lock for long, and see every workspace", async () => {
    const names = [
      "synchronous_commit",
      "idle_in_transaction_session_timeout",
      "lock_timeout",
      "countersign.workspace",
    ];
    const show = "select array(select current_setting(name, true) from unnest($1::text[]) as name) as settings";
    const settings = async (sql: Sql) => (await sql.query(show, [names])).rows[0]!.settings;
    const ofRunners = ["off", "3s", "4s", "*"];
    const { background } = database;
    const all = await Promise.all([settings(background), background.transaction(settings), settings(background)]);
    expect(all).to.deep.equal([ofRunners, ofRunners, ofRunners]);
    expect((await settings(database)).slice(0, 3)).to.deep.equal(["on", "1min", "0"]);
    expect((await settings(database))[3] ?? "").to.equal("");
  });

  it("the database reads int8 as a number, and refuses one that would be rounded", async () => {
    const most = Number.MAX_SAFE_INTEGER;
    expect((await database.query("select $1::bigint as most", [most])).rows).to.deep.equal([{ most }]);
    const error = await failureOf(database.query("select 9007199254740993 as more"));
    expect(error).to.be.instanceOf(RangeError);
  });

  it("a transaction is committed as a whole", async () => {
    await database.transaction(async (tx) => {
      await tx.query("insert into numbers values (1)");
      await tx.query("insert into numbers values (2)");
    });
    expect(await numbers()).to.deep.equal([1, 2]);
  });

  it("a transaction whose work throws is undone, and its error is passed on", async () => {
    const own = new Error("mine");
    const error = await failureOf(
      database.transaction(async (tx) => {
        await tx.query("insert into numbers values (3)");
        throw own;
      }),
    );
    expect(error).to.equal(own);
    expect(await numbers()).to.deep.equal([1, 2]);
  });

  it("a transaction with a swallowed failed statement does not count as done", async () => {
    const error = await failureOf(
      database.transaction(async (tx) => {
        await tx.query("insert into numbers values (4)");
        await tx.query("select no_such_column").catch(() => {});
      }),
    );
    expect((error as pg.DatabaseError).code).to.equal("42703");
    expect(await numbers()).to.deep.equal([1, 2]);
  });

  it("errors of PostgreSQL are passed on, at the statement or at the commit", async () => {
    const syntax = await failureOf(database.query("selekt 1"));
    expect((syntax as pg.DatabaseError).code).to.equal("42601");
    const deferred = await failureOf(database.transaction((tx) => tx.query("insert into numbers values (1)")));
    expect((deferred as pg.DatabaseError).code).to.equal("23505");
    expect(await numbers()).to.deep.equal([1, 2]);
  });

  it("an error of PostgreSQL names the code that sent the statement", async () => {
    const asksWrongly = () => database.query("select nothing from nowhere");
    const refused = (await failureOf(
      (async function whoAsks() {
        await asksWrongly();
      })(),
    )) as Error;
    expect(refused.stack).to.contain("whoAsks");
  });

  it("a statement that takes too long is Unavailable", async () => {
    const error = await failureOf(database.query("select pg_sleep(10)"));
    expect(error).to.be.instanceOf(Unavailable);
  });

  it("a database that is away, or that refuses the login, is Unavailable", async () => {
    const nobody = connectDatabase({
      serviceUrl: "postgres://u:p@127.0.0.1:1/d",
      ownerUrl: "postgres://u:p@127.0.0.1:1/d",
    });
    expect(await failureOf(nobody.query("select 1"))).to.be.instanceOf(Unavailable);
    expect(await failureOf(nobody.transaction((tx) => tx.query("select 1")))).to.be.instanceOf(Unavailable);
    await nobody.close();
  });

  it("the database survives cut connections, in the middle of a statement and idle", async () => {
    // Only a superuser sees the activity of another role's connection.
    const admin = new pg.Client(process.env.TEST_DATABASE_ADMIN_URL);
    await admin.connect();
    const cut = (which: string) =>
      admin.query(`select pg_terminate_backend(pid) from pg_stat_activity where usename = $1 and ${which}`, [
        server.serviceRole,
      ]);
    const busy = failureOf(database.transaction((tx) => tx.query("select pg_sleep(1.5)")));
    const sleeping = "wait_event = 'PgSleep'";
    while (!(await cut(sleeping)).rowCount) await admin.query("select pg_sleep(0.01)");
    expect(await busy).to.be.instanceOf(Unavailable);
    await Promise.all([1, 2, 3].map(() => database.query("select pg_sleep(0.01)")));
    await cut("true");
    await admin.end();
    // A connection that is ended while it is idle in the pool may still be handed out once.
    for (let tries = 0; tries < 4; tries++)
      await database.query("select 1").catch((error) => expect(error).to.be.instanceOf(Unavailable));
    expect((await database.query("select 1 as one")).rows).to.deep.equal([{ one: 1 }]);
  });

  it("a lost connection is reported, but not one that its owner closes", async () => {
    const lost: string[] = [];
    const ending = connectDatabase(server, { onConnectionLost: (error) => lost.push(error.message) });
    ending.pool.emit("error", new Error("while it serves"), undefined as never);
    await ending.close();
    ending.pool.emit("error", new Error("after its end"), undefined as never);
    expect(lost).to.deep.equal(["while it serves"]);
  });

  it("a broken connection is reported, whoever ended it, and a failed statement is not", async () => {
    let losses = 0;
    const unwatch = database.onLost(() => losses++);
    const silent = database.transaction(async (tx) => {
      // Simulates a server that no longer answers.
      await tx.query("set local statement_timeout = 0");
      await tx.query("select pg_sleep(20)");
    });
    expect(await failureOf(silent)).to.be.instanceOf(Unavailable);
    expect(losses, "given up on").to.be.above(0);
    losses = 0;
    const itself = "select pg_terminate_backend(pg_backend_pid())";
    expect(await failureOf(database.query(itself))).to.be.instanceOf(Unavailable);
    expect(losses, "ended by the server").to.be.above(0);
    losses = 0;
    await failureOf(database.query("selekt 1"));
    await failureOf(database.query("select pg_sleep(10)"));
    await failureOf(database.transaction((tx) => tx.query("selekt 1")));
    await database.transaction((tx) => tx.query("select 1"));
    expect(losses, "whole").to.equal(0);
    unwatch();
    await failureOf(database.query(itself));
    expect(losses, "nobody listens").to.equal(0);
  });

  it("a closed database is Unavailable", async () => {
    const closed = connectDatabase(server);
    await closed.close();
    expect(await failureOf(closed.query("select 1"))).to.be.instanceOf(Unavailable);
  });
});
