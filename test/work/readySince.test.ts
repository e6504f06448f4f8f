import { readFile } from "node:fs/promises";
import { expect } from "chai";
import pg from "pg";
import { createTestDatabase } from "#test/support/postgres.ts";

const migration = new URL("../../src/postgres/migrations/0031-ready-since.sql", import.meta.url);

describe("the column that tells since when lanes are ready", () => {
  it("comes without the lanes that there are being written again, and is of each lane's own time from then on", async () => {
    const database = await createTestDatabase();
    const owner = new pg.Client({ connectionString: database.ownerUrl });
    after(async () => {
      await owner.end();
      await database.drop();
    });
    await owner.connect();
    await owner.query("drop trigger becomes_ready on work.lanes; drop function work.note_ready");
    await owner.query("alter table work.lanes drop column ready_at");
    const lane = (key: string) =>
      owner.query("insert into work.lanes (process, key, workspace, state) values ('toyRule', $1, 'w', 'ready')", [
        key,
      ]);
    const file = async () => (await owner.query("select pg_relation_filenode('work.lanes') as file")).rows[0].file;
    await lane("before");
    const before = await file();
    await owner.query(await readFile(migration, "utf8"));
    expect(await file()).to.equal(before);
    await owner.query("begin");
    await lane("one");
    await lane("other");
    await owner.query("commit");
    const { rows } = await owner.query<{ at: string }>("select ready_at::text as at from work.lanes");
    expect(new Set(rows.map(({ at }) => at)).size).to.equal(3);
  });
});
