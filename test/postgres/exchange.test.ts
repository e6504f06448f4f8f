import { expect } from "chai";
import pg from "pg";
import { StatementTimedOut, Unavailable } from "#src/eventStore/eventStore.ts";
import { connectDatabase, type Database, type Sql } from "#src/postgres/database.ts";
import { exchangeOn, NotRun } from "#src/postgres/exchange.ts";
import { prepared } from "#src/postgres/prepared.ts";
import { createReads } from "#src/postgres/reads.ts";
import { createTestDatabase, type TestDatabase } from "#test/support/postgres.ts";

/** pg's connection says so whenever PostgreSQL has answered a message. */
const countAnswers = (client: pg.PoolClient): { count: number } => {
  const answers = { count: 0 };
  (client as unknown as { connection: NodeJS.EventEmitter }).connection.on("readyForQuery", () => {
    answers.count += 1;
  });
  return answers;
};

const failureOf = (work: Promise<unknown>): Promise<any> =>
  work.then(
    () => undefined,
    (error) => error,
  );

describe("several statements in one message", () => {
  let test: TestDatabase;
  let pool: pg.Pool;
  let database: Database;
  let client: pg.PoolClient;

  before(async () => {
    test = await createTestDatabase();
    pool = new pg.Pool({ connectionString: test.serviceUrl, max: 1 });
    database = connectDatabase(test);
    await database.owner.query("create table read.toys (n int primary key)");
    await database.owner.query(`grant all on read.toys to ${test.serviceRole}`);
  });
  beforeEach(async () => {
    client = await pool.connect();
  });
  afterEach(async () => {
    await client.query("rollback");
    client.release();
    await database.query("truncate read.toys");
  });
  after(async () => {
    await pool?.end();
    await database?.close();
    await test?.drop();
  });

  const ask = (text: string, ...values: unknown[]) => ({ text, values });

  it("are answered in their order, each with what is its own", async () => {
    const answers = countAnswers(client);
    const exchange = exchangeOn(client);
    const [begun, one, none, written, last] = await Promise.all([
      exchange(ask("begin")),
      exchange(prepared("select $1::int as one, $2::text as text", [1, "a"])),
      exchange(ask("select 1 as never where false")),
      exchange(ask("insert into read.toys values (1), (2)")),
      exchange(prepared("select array_agg(n order by n) as all from read.toys where n > $1", [0])),
    ]);
    expect(answers.count).to.equal(1);
    expect(begun.command).to.equal("BEGIN");
    expect(one.rows).to.deep.equal([{ one: 1, text: "a" }]);
    expect([none.rows, none.fields.map(({ name }) => name)]).to.deep.equal([[], ["never"]]);
    expect(written.rowCount).to.equal(2);
    expect(last.rows).to.deep.equal([{ all: [1, 2] }]);
  });

  it("are told once a connection what the rows of a named statement look like, also where there were none", async () => {
    let described = 0;
    (client as unknown as { connection: NodeJS.EventEmitter }).connection.on("rowDescription", () => {
      described += 1;
    });
    const exchange = exchangeOn(client);
    const upTo = (n: number) => prepared("select n, n::text as text from generate_series(1, $1::int) n", [n]);
    const rowsOf = (n: number) => Array.from({ length: n }, (_, at) => ({ n: at + 1, text: String(at + 1) }));
    for (const n of [0, 2, 0, 1]) expect((await exchange(upTo(n))).rows).to.deep.equal(rowsOf(n));
    const both = await Promise.all([exchange(upTo(1)), exchange(ask("select 7 as n")), exchange(upTo(3))]);
    expect(both.map(({ rows }) => rows)).to.deep.equal([rowsOf(1), [{ n: 7 }], rowsOf(3)]);
    // The statement without a name is described each time.
    expect(described).to.equal(2);
  });

  it("wait for those before them, and then go together", async () => {
    const answers = countAnswers(client);
    const exchange = exchangeOn(client);
    const inTurn = async (n: number): Promise<number> => {
      const first = await exchange(prepared("select $1::int as n", [n]));
      const then = await exchange(prepared("select $1::int + 10 as n", [first.rows[0].n]));
      return then.rows[0].n;
    };
    expect(await Promise.all([1, 2, 3].map(inTurn))).to.deep.equal([11, 12, 13]);
    expect(answers.count).to.equal(2);
  });

  it("are failed by the first that fails: those before it have their answers, and those after it were not run", async () => {
    const exchange = exchangeOn(client);
    await exchange(ask("begin"));
    const [one, failed, notRun, neither] = await Promise.all([
      exchange(prepared("select $1::int as n", [7])),
      failureOf(exchange(prepared("select 1 / $1::int as n", [0]))),
      failureOf(exchange(prepared("insert into read.toys values ($1)", [3]))),
      failureOf(exchange(ask("select 1"))),
    ]);
    expect(one.rows).to.deep.equal([{ n: 7 }]);
    expect(failed).to.include({ code: "22012" });
    for (const error of [notRun, neither]) {
      expect(error).to.be.instanceOf(NotRun);
      expect(error.cause).to.equal(failed);
    }
    await exchange({ text: "rollback" });
    // What was to be prepared for the statements that were not run is prepared now.
    const [again] = await Promise.all([
      exchange(prepared("select 1 / $1::int as n", [1])),
      exchange(prepared("insert into read.toys values ($1)", [3])),
    ]);
    expect(again.rows).to.deep.equal([{ n: 1 }]);
    expect((await exchange(ask("select n from read.toys"))).rows).to.deep.equal([{ n: 3 }]);
  });

  it("go in their order also where one without values, which may hold several commands, is among them", async () => {
    const answers = countAnswers(client);
    const exchange = exchangeOn(client);
    const [, , , last] = await Promise.all([
      exchange(ask("begin")),
      exchange(ask("insert into read.toys values (1)")),
      exchange({ text: "insert into read.toys values (2); insert into read.toys values (3)" }),
      exchange(ask("select count(*)::int as count from read.toys")),
    ]);
    expect(last.rows).to.deep.equal([{ count: 3 }]);
    expect(answers.count).to.equal(3);
  });

  it("say of a connection that is cut in the middle what became of each, and let nobody wait", async () => {
    const exchange = exchangeOn(client);
    const working = Promise.all([
      exchange(ask("select 1")),
      failureOf(exchange(ask("select pg_terminate_backend(pg_backend_pid()), pg_sleep(10)"))),
      failureOf(exchange(ask("select 2"))),
    ]);
    const [one, cut, notRun] = await working;
    expect(one.rowCount).to.equal(1);
    expect(cut).to.be.instanceOf(Error).and.not.instanceOf(NotRun);
    expect(notRun).to.be.instanceOf(NotRun);
    client.release(true);
    client = await pool.connect();
  });

  it("are failed by one whose value cannot be sent, as by any other, and so is their transaction", async () => {
    const exchange = exchangeOn(client);
    const insert = "insert into read.toys values (($1::json ->> 'n')::int)";
    await exchange(ask("begin"));
    const [one, unsent, notRun, last] = await Promise.all([
      exchange(prepared("select $1::int as n", [7])),
      failureOf(exchange(prepared(insert, [{ n: 3n }]))),
      failureOf(exchange(prepared(insert, [{ n: 4 }]))),
      failureOf(exchange(ask("commit"))),
    ]);
    expect(one.rows).to.deep.equal([{ n: 7 }]);
    expect(unsent)
      .to.be.instanceOf(TypeError)
      .and.match(/BigInt/);
    for (const error of [notRun, last]) expect(error).to.be.instanceOf(NotRun).and.include({ cause: unsent });
    expect(await failureOf(exchange(ask("select 1")))).to.include({ code: "25P02" });
    await exchange({ text: "rollback" });
    await exchange(prepared(insert, [{ n: 5 }]));
    expect((await exchange(ask("select n from read.toys"))).rows).to.deep.equal([{ n: 5 }]);
  });

  describe("of a server that hangs", () => {
    const asking = async (query_timeout: number, statements: readonly pg.QueryConfig[]) => {
      const impatient = new pg.Pool({ connectionString: test.serviceUrl, max: 1, query_timeout });
      const own = await impatient.connect();
      own.on("error", () => {});
      const exchange = exchangeOn(own);
      const answers = await Promise.all(statements.map((each) => failureOf(exchange(each))));
      own.release(true);
      await impatient.end();
      return answers;
    };

    it("are given up after a few times the time of one, however many they are", async () => {
      const many = Array.from({ length: 18 }, (_, n) => ask("select $1::int", n));
      const [late, ...rest] = await asking(500, [ask("select pg_sleep(4)"), ...many]);
      expect(late)
        .to.be.instanceOf(Error)
        .and.match(/timeout/);
      for (const error of rest) expect(error).to.be.instanceOf(NotRun).and.include({ cause: late });
    });

    it("have more time together than one has", async () => {
      // A little longer than one may take, and far from what so many may.
      const asked = [...Array.from({ length: 23 }, (_, n) => ask("select $1::int", n)), ask("select pg_sleep(1.6)")];
      expect(await asking(1_500, asked)).to.deep.equal(asked.map(() => undefined));
    });
  });

  const workspaceId = "00000000-0000-4000-8000-000000000001";
  const seenBy = "select current_setting('countersign.workspace') as of, now()::text as at, $1::int as n";

  describe("of look-ups", () => {
    const otherId = "00000000-0000-4000-8000-000000000002";
    let reading: pg.Pool;
    let answers: { count: number }[];

    function openPool(options: pg.PoolConfig = {}): void {
      reading = new pg.Pool({ connectionString: test.serviceUrl, ...options });
      reading.on("error", () => {});
      reading.on("connect", (each) => each.on("error", () => {}));
      reading.on("connect", (each) => answers.push(countAnswers(each as pg.PoolClient)));
    }

    beforeEach(() => {
      answers = [];
      openPool();
    });
    afterEach(() => reading.end());

    it("are those of one moment, each seen by its own workspace", async () => {
      const reads = createReads(reading, reading as never);
      const asked = [workspaceId, otherId, workspaceId];
      const found = await Promise.all(asked.map((of, n) => reads.lookUp(of).query(seenBy, [n])));
      expect(found.map(({ rows }) => [rows[0]!.of, rows[0]!.n])).to.deep.equal(asked.map((of, n) => [of, n]));
      expect(answers.map(({ count }) => count)).to.deep.equal([1]);
      expect(await failureOf((async () => reads.lookUp("*").query(seenBy, [1]))())).to.be.instanceOf(TypeError);
    });

    it("do not fail for each other: who has no answer is asked alone", async () => {
      const reads = createReads(reading, reading as never);
      const lookUp = reads.lookUp(workspaceId);
      const [before, failed, after] = await Promise.all([
        lookUp.query(seenBy, [1]),
        failureOf(lookUp.query("select 1 / $1::int", [0])),
        lookUp.query(seenBy, [2]),
      ]);
      expect([before.rows[0]!.n, after.rows[0]!.n]).to.deep.equal([1, 2]);
      expect(failed).to.include({ code: "22012" });
    });

    it("do not wait for each other's time: one that takes too long fails alone", async () => {
      await reading.end();
      openPool({ statement_timeout: 1_000 });
      const lookUp = createReads(reading, reading as never).lookUp(workspaceId);
      const [before, late, after] = await Promise.all([
        lookUp.query(seenBy, [1]),
        failureOf(lookUp.query("select pg_sleep(10), $1::int", [0])),
        lookUp.query(seenBy, [2]),
      ]);
      expect([before.rows[0]!.n, after.rows[0]!.n]).to.deep.equal([1, 2]);
      expect(late).to.be.instanceOf(StatementTimedOut);
    });

    it("are given up together as soon as one would be, of a server that hangs", async () => {
      await reading.end();
      openPool({ query_timeout: 1_000 });
      const lookUp = createReads(reading, reading as never).lookUp(workspaceId);
      // Two seconds of work in fourteen statements, which together would have as long.
      const sleeps = Array.from({ length: 6 }, () => failureOf(lookUp.query("select pg_sleep(0.28), $1::int", [0])));
      for (const failure of await Promise.all(sleeps)) expect(failure).to.be.instanceOf(Unavailable);
    });

    it("are Unavailable where nobody answers", async () => {
      const nowhere = new pg.Pool({ connectionString: "postgres://nobody@127.0.0.1:9/none" });
      const lookUp = createReads(nowhere, nowhere as never).lookUp(workspaceId);
      const failures = await Promise.all([1, 2].map((n) => failureOf(lookUp.query(seenBy, [n]))));
      for (const failure of failures) expect(failure).to.be.instanceOf(Unavailable);
      await nowhere.end();
      const here = createReads(reading, reading as never).lookUp(workspaceId);
      const cutOff = "select pg_terminate_backend(pg_backend_pid()), $1::int";
      for (const failure of await Promise.all([cutOff, seenBy].map((text) => failureOf(here.query(text, [1])))))
        expect(failure).to.be.instanceOf(Unavailable);
      expect((await here.query(seenBy, [2])).rows[0]).to.include({ of: workspaceId, n: 2 });
    });
  });

  describe("of a transaction", () => {
    const stored = async () => (await database.query("select n from read.toys order by n")).rows.map(({ n }) => n);

    it("begin with its first and end with what was not waited for", async () => {
      const own = await database.pool.connect();
      const answers = countAnswers(own);
      own.release();
      await database.transaction(
        async (tx) => {
          const { rows } = await tx.query("select current_setting('lock_timeout') as timeout, $1::int as n", [1]);
          expect(rows).to.deep.equal([{ timeout: "3s", n: 1 }]);
          void tx.query("insert into read.toys values ($1)", [4]);
          void tx.query("insert into read.toys values ($1)", [5]);
        },
        { settings: { lock_timeout: "3s" } },
      );
      expect(answers.count).to.equal(2);
      expect(await stored()).to.deep.equal([4, 5]);
      const after = await database.query("select current_setting('lock_timeout') as timeout");
      expect(after.rows).to.deep.equal([{ timeout: "0" }]);
    });

    it("go together without values too, where each is one command", async () => {
      const own = await database.pool.connect();
      const answers = countAnswers(own);
      own.release();
      await database.transaction(
        async (tx) => {
          void tx.query("insert into read.toys values ($1)", [4]);
          void tx.query("delete from read.toys where n = 4");
          void tx.query("insert into read.toys values ($1)", [5]);
        },
        { recurring: true },
      );
      expect(answers.count).to.equal(1);
      expect(await stored()).to.deep.equal([5]);
    });

    it("undo it where one fails that nobody waited for, and it throws what that one met", async () => {
      const failed = await failureOf(
        database.transaction(async (tx) => {
          for (const n of [6, 6, 7]) tx.query("insert into read.toys values ($1)", [n]).catch(() => {});
          return "done";
        }),
      );
      expect(failed).to.include({ code: "23505" });
      expect(await stored()).to.deep.equal([]);
    });

    it("undo it where a value of one cannot be sent that nobody waited for", async () => {
      const failed = await failureOf(
        database.transaction(async (tx) => {
          tx.query("insert into read.toys values ($1)", [6]).catch(() => {});
          tx.query("insert into read.toys values (($1::json ->> 'n')::int)", [{ n: 7n }]).catch(() => {});
          tx.query("insert into read.toys values ($1)", [8]).catch(() => {});
          return "done";
        }),
      );
      expect(failed).to.match(/BigInt/);
      expect(await stored()).to.deep.equal([]);
    });

    it("are not run where it did not begin, whoever swallows that", async () => {
      const own = await database.pool.connect();
      const { stream } = (own as unknown as { connection: { stream: { write(bytes: Buffer): boolean } } }).connection;
      const { write } = stream;
      stream.write = (bytes) => {
        const at = bytes.indexOf("begin\0");
        if (at >= 0) bytes.write("begun", at);
        return write.call(stream, bytes);
      };
      own.release();
      const insert = (tx: Sql) => failureOf(tx.query("insert into read.toys values ($1)", [9]));
      const failed = await failureOf(
        database.transaction(async (tx) => {
          expect(await insert(tx)).to.be.instanceOf(NotRun);
          expect(await insert(tx)).to.be.instanceOf(NotRun);
        }),
      );
      stream.write = write;
      expect(failed).to.include({ code: "42601" });
      expect(await stored()).to.deep.equal([]);
    });

    it("of reads are Unavailable where the connection breaks before anything is asked", async () => {
      const reading = new pg.Pool({ connectionString: test.serviceUrl, max: 1 });
      const connected = await reading.connect();
      connected.on("error", () => {});
      connected.release();
      const reads = createReads(reading, reading as never);
      const failed = await failureOf(
        reads.snapshot("00000000-0000-4000-8000-000000000001", async () => {
          (connected as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
        }),
      );
      expect(failed).to.be.instanceOf(Unavailable);
      await reading.end();
    });

    it("of reads begin with what is asked first, and see one state of one workspace", async () => {
      const answers: { count: number }[] = [];
      const reading = new pg.Pool({ connectionString: test.serviceUrl, max: 1 });
      reading.on("connect", (each) => answers.push(countAnswers(each as pg.PoolClient)));
      const reads = createReads(reading, reading as never);
      const late = await reads.snapshot(workspaceId, async (within) => {
        const tx = within.of(workspaceId);
        const [one, other] = await Promise.all([tx.query(seenBy, [1]), tx.query(seenBy, [2])]);
        expect([one.rows[0]!.of, one.rows[0]!.n, other.rows[0]!.n]).to.deep.equal([workspaceId, 1, 2]);
        expect(other.rows[0]!.at).to.equal(one.rows[0]!.at);
        return tx;
      });
      expect(answers.map(({ count }) => count)).to.deep.equal([2]);
      expect(await failureOf(late.query("select 1"))).to.match(/after the end of its transaction/);
      await reading.end();
    });

    it("of reads that are asked at once are one with their end; what is asked later is refused", async () => {
      const answers: { count: number }[] = [];
      const reading = new pg.Pool({ connectionString: test.serviceUrl, max: 1 });
      reading.on("connect", (each) => answers.push(countAnswers(each as pg.PoolClient)));
      const reads = createReads(reading, reading as never);
      const seen = await reads.together(workspaceId, async (within) => {
        const tx = within.of(workspaceId);
        const both = await Promise.all([tx.query(seenBy, [1]), tx.query(seenBy, [2])]);
        expect(await failureOf(tx.query("select 1"))).to.match(/after the end of its transaction/);
        return both.map(({ rows }) => rows[0]);
      });
      const at = seen[0]!.at;
      expect(seen).to.deep.equal([1, 2].map((n) => ({ of: workspaceId, at, n })));
      expect(answers.map(({ count }) => count)).to.deep.equal([1]);
      const failed = await failureOf(
        reads.together(workspaceId, async (within) => within.of(workspaceId).query("select 1 / $1::int", [0])),
      );
      expect(failed).to.include({ code: "22012" });
      expect((await reads.of(workspaceId).query(seenBy, [3])).rows[0]).to.include({ of: workspaceId, n: 3 });
      await reading.end();
    });

    it("are refused after its end: the connection may be another's", async () => {
      const late = await database.transaction(async (tx) => tx);
      const error = await failureOf(late.query("insert into read.toys values ($1)", [8]));
      expect(error).to.match(/after the end of its transaction/);
      expect(await stored()).to.deep.equal([]);
    });
  });
});
