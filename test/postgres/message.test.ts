import { expect } from "chai";
import pg from "pg";
import { askDescribed } from "#src/postgres/described.ts";
import { exchangeOn } from "#src/postgres/exchange.ts";
import { createTestDatabase, type TestDatabase } from "#test/support/postgres.ts";

type Socket = { write: (...all: unknown[]) => boolean };

/** What is written on its socket from now on, in bytes. */
function watchWrites(client: pg.PoolClient): number[] {
  const { stream } = (client as unknown as { connection: { stream: Socket } }).connection;
  const write = stream.write.bind(stream);
  const writes: number[] = [];
  stream.write = (...all) => {
    writes.push((all[0] as Buffer).length);
    return write(...all);
  };
  return writes;
}

describe("what is written to PostgreSQL", () => {
  let test: TestDatabase;
  let pool: pg.Pool;
  let client: pg.PoolClient;

  before(async () => {
    test = await createTestDatabase();
    pool = new pg.Pool({ connectionString: test.serviceUrl, max: 1 });
  });
  beforeEach(async () => {
    client = await pool.connect();
  });
  afterEach(() => client.release(true));
  after(async () => {
    await pool?.end();
    await test?.drop();
  });

  const long = "ä".repeat(50_000);
  const length = { name: "length", text: "select length($1::text) as length", values: [long] };

  it("goes out in one go: one statement, or several of one message", async () => {
    const writes = watchWrites(client);
    await askDescribed(client, { text: "select $1::int", values: [1] });
    expect(writes).to.have.length(1);
    const exchange = exchangeOn(client);
    await Promise.all([exchange({ text: "select 1", values: [] }), exchange({ text: "select $1::int", values: [2] })]);
    expect(writes).to.have.length(2);
  });

  it("is not copied where it is large, and arrives whole", async () => {
    const writes = watchWrites(client);
    expect((await askDescribed<pg.QueryResult>(client, length)).rows).to.eql([{ length: long.length }]);
    expect(writes).to.have.length.greaterThan(1);
    expect((await askDescribed<pg.QueryResult>(client, length)).rows).to.eql([{ length: long.length }]);
  });

  it("asks once what the rows of a named statement look like, also where they come as arrays", async () => {
    const named = { name: "both", text: "select $1::int as one, $2::bigint as two", rowMode: "array" } as const;
    const described: unknown[] = [];
    (client as unknown as { connection: NodeJS.EventEmitter }).connection.on("rowDescription", (message) =>
      described.push(message),
    );
    for (const one of [1, 2]) {
      const { rows } = await askDescribed<pg.QueryArrayResult>(client, { ...named, values: [one, null] });
      expect(rows).to.eql([[one, null]]);
    }
    expect(described).to.have.length(1);
  });

  it("fails by itself where a value cannot be sent, and the connection answers what comes next", async () => {
    const unsendable = {
      toPostgres() {
        throw new Error("not to be had");
      },
    };
    const failure = await askDescribed(client, { text: "select $1::text", values: [unsendable] }).catch(
      (error) => error,
    );
    expect(failure).to.be.an("error").with.property("message", "not to be had");
    expect((await askDescribed<pg.QueryResult>(client, { text: "select 1 as one" })).rows).to.eql([{ one: 1 }]);
  });
});
