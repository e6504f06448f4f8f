import { expect } from "chai";
import pg from "pg";
import { migrate } from "#src/platform/postgres/migrate.ts";
import { prepareDatabase } from "#src/platform/postgres/prepare.ts";
import { StartError } from "#src/platform/startError.ts";
import { createTestDatabase, type TestDatabase } from "#test/support/postgres.ts";

describe("preparing the database", () => {
  let server: TestDatabase;
  before(async () => {
    server = await createTestDatabase();
  });
  after(() => server.drop());

  async function asOwner(sql: string): Promise<pg.QueryResult> {
    const client = new pg.Client(server.ownerUrl);
    await client.connect();
    return client.query(sql).finally(() => client.end());
  }

  const refusal = async (urls: { serviceUrl: string; ownerUrl: string }): Promise<string> => {
    const error = await prepareDatabase(urls).then(
      () => new Error("it was taken"),
      (reason) => reason,
    );
    expect(error).to.be.instanceOf(StartError);
    return error.message;
  };

  it("preparing the database says which server it is, and whether one role does everything", async () => {
    const apart = await prepareDatabase(server);
    expect(apart.version).to.match(/^\d+\.\d+/);
    expect(apart.oneRole).to.equal(false);
    const one = await prepareDatabase({ serviceUrl: server.ownerUrl, ownerUrl: server.ownerUrl });
    expect(one.oneRole).to.equal(true);
  });

  it("each migration is applied once, also by many instances at the same moment", async () => {
    await asOwner("drop schema if exists es, work, read cascade");
    await Promise.all(Array.from({ length: 8 }, () => migrate(server.ownerUrl, server.serviceRole)));
    const { rows } = await asOwner("select name, count(*)::int as times from work.migrations group by name");
    expect(rows).not.to.deep.equal([]);
    for (const row of rows) expect(row, row.name).to.include({ times: 1 });
  });

  it("a database of an earlier, incompatible version is refused in one sentence, and not changed", async () => {
    await asOwner("insert into work.migrations (name) values ('0002-of-another-line.sql')");
    await asOwner("delete from work.migrations where name like '0001-%'");
    const applied = () => asOwner("select name from work.migrations order by name");
    const before = (await applied()).rows;
    expect(await refusal(server)).to.equal(
      "The tables of this database were made by an earlier version (migration 0002-of-another-line.sql) and cannot be brought up to date: start with an empty database; for a development install, remove the directory DATA_DIR.",
    );
    expect((await applied()).rows).to.deep.equal(before);
    await asOwner("drop schema es, work, read cascade");
    await migrate(server.ownerUrl, server.serviceRole);
  });

  it("a database of a newer version, with later migrations, is accepted", async () => {
    await asOwner("insert into work.migrations (name) values ('9999-of-tomorrow.sql')");
    await migrate(server.ownerUrl, server.serviceRole);
    await asOwner("delete from work.migrations where name like '9999-%'");
  });

  it("the service role cannot change what is recorded", async () => {
    const client = new pg.Client(server.serviceUrl);
    await client.connect();
    for (const sql of [
      "update work.migrations set name = ''",
      "delete from es.events",
      "update es.events set data = '{}'",
      "truncate es.events",
    ]) {
      const failure = await client.query(sql).catch((error) => error);
      expect(failure.code, sql).to.equal("42501");
    }
    await client.end();
  });

  it("a wrong address or password of the database is reported in one sentence, without the password", async () => {
    const nobody = "postgres://u:hunter2@127.0.0.1:1/d";
    const message = await refusal({ serviceUrl: nobody, ownerUrl: nobody });
    expect(message).to.match(/^DATABASE_URL \(127\.0\.0\.1:1\/d\) cannot be reached/);
    expect(message).not.to.include("hunter2");
    const noDatabase = new URL(server.serviceUrl);
    noDatabase.pathname = "/no_such_database";
    expect(await refusal({ serviceUrl: noDatabase.href, ownerUrl: noDatabase.href })).to.match(
      /refuses the connection/,
    );
  });

  it("a role that may not create the tables is reported in one sentence", async () => {
    await asOwner("drop schema if exists es, work, read cascade");
    expect(await refusal({ serviceUrl: server.serviceUrl, ownerUrl: server.serviceUrl })).to.match(
      /set DATABASE_OWNER_URL/,
    );
  });

  it("two URLs of two databases are reported in one sentence", async () => {
    const other = await createTestDatabase();
    expect(await refusal({ serviceUrl: server.serviceUrl, ownerUrl: other.ownerUrl })).to.match(/are two databases/);
    await other.drop();
  });
});
