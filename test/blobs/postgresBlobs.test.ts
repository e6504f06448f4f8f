import { createHash, randomBytes } from "node:crypto";
import { expect } from "chai";
import pg from "pg";
import { BlobCorrupt, type Blobs } from "#src/blobs/blobs.ts";
import { postgresBlobs } from "#src/blobs/postgresBlobs.ts";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { connectDatabase, type Database } from "#src/postgres/database.ts";
import { createTestDatabase, type TestDatabase } from "#test/support/postgres.ts";

const sha256 = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");

describe("blobs in PostgreSQL", function () {
  this.timeout(30_000);
  let test: TestDatabase;
  let database: Database;
  let blobs: Blobs;
  before(async () => {
    test = await createTestDatabase();
    database = connectDatabase(test);
    blobs = postgresBlobs(database);
  });
  after(async () => {
    await database.close();
    await test.drop();
  });

  async function asOwner(sql: string, values: unknown[] = []): Promise<pg.QueryResult> {
    const owner = new pg.Client({ connectionString: test.ownerUrl });
    await owner.connect();
    return owner.query(sql, values).finally(() => owner.end());
  }

  it("come back as they went in, whatever the bytes", async () => {
    for (const bytes of [
      Buffer.alloc(0),
      Buffer.from([0, 255, 92, 0]),
      randomBytes(300_000),
      Buffer.alloc(30 * 1024 * 1024, "x"),
    ]) {
      const hash = await blobs.put(bytes);
      expect(hash).to.equal(sha256(bytes));
      expect((await blobs.get(hash))?.equals(bytes)).to.equal(true);
    }
  });

  it("are kept once, also when the same bytes come from many at a time", async () => {
    for (const size of [1_000, 400_000]) {
      const bytes = randomBytes(size);
      const hashes = await Promise.all(Array.from({ length: 20 }, () => blobs.put(Buffer.from(bytes))));
      expect(new Set(hashes)).to.deep.equal(new Set([sha256(bytes)]));
      const { rows } = await asOwner(
        "select count(*)::int as count, max(size) as size from work.blobs where sha256 = $1",
        [Buffer.from(hashes[0]!, "hex")],
      );
      expect(rows).to.deep.equal([{ count: 1, size }]);
    }
  });

  it("that nobody stored are undefined", async () => {
    expect(await blobs.get(sha256(Buffer.from("never stored")))).to.equal(undefined);
  });

  it("that changed on the disk are never taken for what was stored", async () => {
    const hash = await blobs.put(Buffer.from("as it was"));
    await asOwner("update work.blobs set bytes = 'as it is' where sha256 = $1", [Buffer.from(hash, "hex")]);
    const error = await blobs.get(hash).catch((caught) => caught);
    expect(error).to.be.instanceOf(BlobCorrupt);
  });

  it("can be neither changed nor deleted by the service", async () => {
    for (const sql of ["update work.blobs set bytes = ''", "delete from work.blobs", "truncate work.blobs"]) {
      const error = await database.query(sql).catch((caught) => caught);
      expect(error.code, sql).to.equal("42501");
    }
  });

  it("are Unavailable where the database is not there", async () => {
    const url = "postgres://nobody:nobody@127.0.0.1:1/nothing";
    const away = connectDatabase({ serviceUrl: url, ownerUrl: url });
    const unreachable = postgresBlobs(away);
    expect(await unreachable.put(Buffer.from("x")).catch((caught) => caught)).to.be.instanceOf(Unavailable);
    expect(await unreachable.get(sha256(Buffer.from("x"))).catch((caught) => caught)).to.be.instanceOf(Unavailable);
    await away.close();
  });
});
