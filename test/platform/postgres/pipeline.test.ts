import { expect } from "chai";
import pg from "pg";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { connectDatabase, type Database, NotRun, type Sql } from "#src/platform/postgres/database.ts";
import { createReads } from "#src/platform/postgres/reads.ts";
import { unnamed } from "#src/platform/postgres/statements.ts";
import { inTransaction } from "#src/platform/postgres/transaction.ts";
import { OutcomeUnknown } from "#src/platform/postgres/unavailable.ts";
import { createTestDatabase, type TestDatabase } from "#test/support/postgres.ts";

const failureOf = (work: Promise<unknown>): Promise<any> =>
  work.then(
    () => undefined,
    (error) => error,
  );

const insert = "insert into read.toys values ($1)";
const insertJson = "insert into read.toys values (($1::json ->> 'n')::int)";
const workspaceId = "00000000-0000-4000-8000-000000000001";
const seen = "select current_setting('countersign.workspace') as of, now()::text as at, $1::int as n";

describe("a transaction on a pipelined connection", () => {
  let server: TestDatabase;
  let database: Database;

  before(async () => {
    server = await createTestDatabase();
    database = connectDatabase(server);
    await database.owner.query("create table read.toys (n int primary key)");
    await database.owner.query(`grant all on read.toys to ${server.serviceRole}`);
  });
  afterEach(() => database.query("truncate read.toys"));
  after(async () => {
    await database?.close();
    await server?.drop();
  });

  const stored = async () => (await database.query("select n from read.toys order by n")).rows.map(({ n }) => n);

  /** Calls `work` with a pool of one pipelined connection. */
  async function withPool<T>(work: (pool: pg.Pool) => Promise<T>, options: pg.PoolConfig = {}): Promise<T> {
    const pool = new pg.Pool({ connectionString: server.serviceUrl, max: 1, pipeline: true, ...options });
    pool.on("error", () => {});
    pool.on("connect", (client) => client.on("error", () => {}));
    return work(pool).finally(() => pool.end());
  }

  /** Records the statements and answers of the pool's connections, in order; `change` may replace a statement. */
  function watch(pool: pg.Pool, change = (text: string): string => text): string[] {
    const noted: string[] = [];
    pool.on("connect", (client) => {
      const query = client.query.bind(client) as (statement: unknown, answered: unknown) => unknown;
      client.query = ((statement: pg.QueryConfig | string, answered?: (...given: unknown[]) => void) => {
        if (!answered) return query(statement, undefined);
        const isText = typeof statement === "string";
        noted.push(isText ? statement : statement.text);
        return query(isText ? change(statement) : statement, (...given: unknown[]) => {
          noted.push("answer");
          answered(...given);
        });
      }) as never;
    });
    return noted;
  }

  it("a pipelined transaction commits once all statements are answered, and its settings end with it", async () => {
    await inTransaction(
      database.pool,
      async (tx) => {
        const { rows } = await tx.query("select current_setting('lock_timeout') as timeout, $1::int as n", [1]);
        expect(rows).to.deep.equal([{ timeout: "3s", n: 1 }]);
        void tx.query("select pg_sleep(0.2)");
        for (const n of [4, 5]) void tx.query(insert, [n]);
      },
      { settings: { lock_timeout: "3s", "countersign.workspace": "it's" }, stated: unnamed },
    );
    expect(await stored()).to.deep.equal([4, 5]);
    const left = "select current_setting('lock_timeout') as timeout, current_setting('countersign.workspace') as of";
    expect((await database.query(left)).rows).to.deep.equal([{ timeout: "0", of: "" }]);
  });

  it("a failed statement that nobody awaited undoes the transaction, and later statements do not run", async () => {
    const met: unknown[] = [];
    const failed = await failureOf(
      database.transaction(async (tx) => {
        for (const n of [6, 6, 7, 7]) met.push(failureOf(tx.query(insert, [n])));
      }),
    );
    expect(failed).to.include({ code: "23505" });
    const [first, second, ...behind] = await Promise.all(met);
    expect([first, second]).to.deep.equal([undefined, failed]);
    for (const error of behind) expect(error).to.be.instanceOf(NotRun).and.include({ cause: failed });
    expect(await stored()).to.deep.equal([]);
  });

  it("a failure that nothing handles undoes the transaction without an unhandled rejection", async () => {
    const failed = await failureOf(database.transaction(async (tx) => void tx.query("select no_such_column")));
    expect(failed).to.include({ code: "42703" });
  });

  it("a value that cannot be sent undoes the transaction, and the next one sends the same statement", async () => {
    for (const value of [{ n: 7n }, '{"n": 7, "text": "\0"}']) {
      const failed = await failureOf(
        database.background.transaction(async (tx) => {
          await tx.query("select 1 from work.checkpoints where name = $1", [""]);
          void tx.query(insert, [6]);
          void tx.query(insertJson, [value]);
          void tx.query(insert, [8]);
        }),
      );
      if (typeof value === "string") expect(failed).to.include({ code: "22021" });
      else expect(failed).to.be.instanceOf(TypeError);
      expect(await stored()).to.deep.equal([]);
    }
    for (const n of [1, 2, 3]) await database.background.transaction((tx) => tx.query(insertJson, [{ n }]));
    expect(await stored()).to.deep.equal([1, 2, 3]);
  });

  it("a transaction whose begin is refused runs nothing: no write, and no read counts", () =>
    withPool(async (pool) => {
      let refusing = true;
      const begun = (text: string): string => (refusing ? text.replace(/^begin/, "begun") : text);
      const own = connectDatabase(server);
      watch(own.pool, begun);
      let ran = false;
      const written = own.transaction(async (tx: Sql) => {
        ran = true;
        await tx.query(insert, [9]);
      });
      expect(await failureOf(written)).to.include({ code: "42601" });
      await own.close();
      expect([ran, await stored()]).to.deep.equal([false, []]);
      watch(pool, begun);
      const reads = createReads(pool, pool as never);
      expect(await failureOf(reads.of(workspaceId).query(seen, [1]))).to.include({ code: "42601" });
      const answers: unknown[] = [];
      const swallowing = reads.snapshot(workspaceId, async (within) => {
        answers.push(await failureOf(within.of(workspaceId).query("select 1 as one")));
      });
      const refused = await failureOf(swallowing);
      expect(refused).to.include({ code: "42601" });
      expect(answers).to.have.length(1);
      expect(answers[0]).to.be.instanceOf(NotRun).and.include({ cause: refused });
      refusing = false;
      expect((await reads.of(workspaceId).query(seen, [1])).rows[0]).to.include({ of: workspaceId, n: 1 });
    }));

  it("a cut transaction blames the statement under way, and the next has another connection", () =>
    withPool(async (pool) => {
      const met: unknown[] = [];
      const reads = createReads(pool, pool as never);
      const cut = reads.snapshot(workspaceId, async (within) => {
        const { query } = within.of(workspaceId);
        const asked = [
          "select 1",
          "select pg_terminate_backend(pg_backend_pid()), pg_sleep(10)",
          "select 2",
          "select 3",
        ];
        met.push(...(await Promise.all(asked.map((text) => failureOf(query(text))))));
      });
      const failed = await failureOf(cut);
      expect(failed).to.be.instanceOf(Unavailable);
      expect(met.slice(0, 2)).to.deep.equal([undefined, failed]);
      for (const error of met.slice(2)) expect(error).to.be.instanceOf(NotRun).and.include({ cause: failed });
      expect((await reads.of(workspaceId).query(seen, [2])).rows[0]).to.include({ of: workspaceId, n: 2 });
    }));

  it("a transaction that is cut at its commit says that its outcome is unknown", async () => {
    await database.owner.query(`
      create function read.cut() returns trigger language plpgsql as
        $$ begin perform pg_terminate_backend(pg_backend_pid()); perform pg_sleep(5); return null; end $$;
      create constraint trigger cut after insert on read.toys deferrable initially deferred for each row execute function read.cut()`);
    try {
      const cut = await failureOf(database.transaction((tx) => tx.query(insert, [1])));
      expect(cut).to.be.instanceOf(OutcomeUnknown).and.instanceOf(Unavailable);
    } finally {
      await database.owner.query("drop function read.cut cascade");
    }
    const before = await failureOf(
      database.transaction((tx) => tx.query("select pg_terminate_backend(pg_backend_pid())")),
    );
    expect(before).to.be.instanceOf(Unavailable).and.not.instanceOf(OutcomeUnknown);
  });

  describe("a transaction on a server that hangs", () => {
    const asking = (query_timeout: number, work: (query: Sql["query"]) => Promise<unknown>) =>
      withPool(
        async (pool) => {
          const reads = createReads(pool, pool as never);
          const failed = await failureOf(reads.snapshot(workspaceId, (within) => work(within.of(workspaceId).query)));
          return { failed, left: pool.totalCount };
        },
        { query_timeout },
      );

    it("a hanging server is blamed on the first statement without an answer, and the connection closes", async () => {
      const met: unknown[] = [];
      const { failed, left } = await asking(300, async (query) => {
        const asked = ["select 1", "select pg_sleep(4)", ...Array.from({ length: 18 }, () => "select 1")];
        met.push(...(await Promise.all(asked.map((text) => failureOf(query(text))))));
      });
      expect(failed)
        .to.be.instanceOf(Unavailable)
        .and.match(/timeout/);
      expect(met.slice(0, 2)).to.deep.equal([undefined, failed]);
      for (const error of met.slice(2)) expect(error).to.be.instanceOf(NotRun).and.include({ cause: failed });
      expect(left).to.equal(0);
    });

    it("the first statement is blamed also if a later one's time is over before", async () => {
      let met: unknown[] = [];
      const { failed } = await asking(400, async (query) => {
        const quick = Array.from({ length: 10 }, () => query("select 1"));
        const hanging = failureOf(query("select pg_sleep(4)"));
        await Promise.all(quick);
        met = await Promise.all([hanging, failureOf(query("select 1"))]);
      });
      expect(failed).to.be.instanceOf(Unavailable);
      expect(met[0]).to.equal(failed);
      expect(met[1]).to.be.instanceOf(NotRun);
    });

    it("many statements have more time than one", async () => {
      const { failed } = await asking(500, async (query) => {
        for (let n = 0; n < 23; n++) void query("select 1");
        await query("select pg_sleep(0.7)");
      });
      expect(failed).to.equal(undefined);
    });
  });

  it("a single read sends begin, question and commit without waiting", () =>
    withPool(async (pool) => {
      const noted = watch(pool);
      const reads = createReads(pool, pool as never);
      expect((await reads.of(workspaceId).query(seen, [1])).rows[0]).to.include({ of: workspaceId, n: 1 });
      const begin = `begin isolation level repeatable read read only; set local countersign.workspace = '${workspaceId}'`;
      expect(noted).to.deep.equal([begin, seen, "commit", "answer", "answer", "answer"]);
    }));

  it("a snapshot sees one moment and one workspace, and refuses reads after its end", () =>
    withPool(async (pool) => {
      const reads = createReads(pool, pool as never);
      const late = await reads.snapshot(workspaceId, async (within) => {
        const tx = within.of(workspaceId);
        const [one, other] = await Promise.all([tx.query(seen, [1]), tx.query(seen, [2])]);
        expect([one.rows[0]!.of, one.rows[0]!.n, other.rows[0]!.n]).to.deep.equal([workspaceId, 1, 2]);
        expect(other.rows[0]!.at).to.equal(one.rows[0]!.at);
        return tx;
      });
      expect(await failureOf(late.query("select 1"))).to.match(/after the end of its transaction/);
      const lateWrite = await database.transaction(async (tx) => tx);
      expect(await failureOf(lateWrite.query(insert, [8]))).to.match(/after the end of its transaction/);
    }));

  it("an owner's transaction sends one statement at a time, and fails like a pipelined one", async () => {
    const warnings: Error[] = [];
    const warned = (warning: Error) => void warnings.push(warning);
    process.on("warning", warned);
    const met: unknown[] = [];
    const failed = await failureOf(
      database.owner.transaction(async (tx) => {
        for (const n of [1, 1, 2]) met.push(failureOf(tx.query(insert, [n])));
      }),
    );
    await database.owner.transaction(async (tx) => {
      for (const n of [1, 2]) void tx.query(insert, [n]);
    });
    process.off("warning", warned);
    const [, second, third] = await Promise.all(met);
    expect([second, third]).to.satisfy(() => second === failed && third instanceof NotRun);
    expect(await stored()).to.deep.equal([1, 2]);
    expect(warnings).to.deep.equal([]);
  });
});
