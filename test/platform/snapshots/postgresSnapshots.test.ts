import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { connectDatabase, type Database } from "#src/platform/postgres/database.ts";
import { postgresSnapshots } from "#src/platform/snapshots/postgresSnapshots.ts";
import type { Snapshot, Snapshots } from "#src/platform/snapshots/snapshots.ts";
import { createTestDatabase, type TestDatabase } from "#test/support/postgres.ts";

describe("snapshots in PostgreSQL", () => {
  let database: TestDatabase;
  let sql: Database;
  let snapshots: Snapshots;
  before(async () => {
    database = await createTestDatabase();
    sql = connectDatabase(database);
    snapshots = postgresSnapshots(sql);
  });
  after(async () => {
    await sql.close();
    await database.drop();
  });

  const newStream = (category = "thread"): string => `${category}-${randomUUID()}`;
  const snapshot = (revision: number, state: unknown = { revision }): Snapshot => ({
    state,
    revision,
    eventId: randomUUID(),
  });

  it("a snapshot is read as it was stored", async () => {
    const stream = newStream();
    const state = { text: "\u0000 \ud800 é 👍 \u2028", order: { b: 1, a: [null, true, 0.1] }, none: [], empty: {} };
    const written = snapshot(5, state);
    await snapshots.write(stream, "rules", written);
    expect(await snapshots.read(stream, "rules")).to.deep.equal(written);
    expect(JSON.stringify((await snapshots.read(stream, "rules"))?.state)).to.equal(JSON.stringify(state));
    expect(await snapshots.read(newStream(), "rules")).to.equal(undefined);
  });

  it("a snapshot is read for its version of the rules alone", async () => {
    const stream = newStream();
    await snapshots.write(stream, "old", snapshot(9));
    expect(await snapshots.read(stream, "new")).to.equal(undefined);
    await snapshots.write(stream, "new", snapshot(8));
    expect((await snapshots.read(stream, "new"))?.revision).to.equal(8);
    expect(await snapshots.read(stream, "old")).to.equal(undefined);
  });

  it("each stream has one snapshot, the newest", async () => {
    const stream = newStream();
    const newest = snapshot(20);
    for (const each of [snapshot(10), newest, snapshot(15)]) await snapshots.write(stream, "rules", each);
    expect(await snapshots.read(stream, "rules")).to.deep.equal(newest);
    const { rows } = await sql.query("select count(*)::int as count from work.snapshots where stream = $1", [stream]);
    expect(rows).to.deep.equal([{ count: 1 }]);
  });

  it("only useless snapshots are dropped", async () => {
    const stream = newStream();
    const written = snapshot(3);
    await snapshots.write(stream, "rules", written);
    await snapshots.drop(stream, randomUUID());
    expect(await snapshots.read(stream, "rules")).to.deep.equal(written);
    await snapshots.drop(stream, written.eventId);
    expect(await snapshots.read(stream, "rules")).to.equal(undefined);
    await snapshots.write(stream, "rules", written);
    await snapshots.drop(stream);
    expect(await snapshots.read(stream, "rules")).to.equal(undefined);
  });

  it("snapshots of other rules are listed as outdated, longest stream first, for known kinds of stream", async () => {
    const [short, long, fresh, foreign] = [newStream("note"), newStream("note"), newStream("note"), newStream("gone")];
    await snapshots.write(short, "old", snapshot(500));
    await snapshots.write(long, "older", snapshot(50_000));
    await snapshots.write(fresh, "new", snapshot(700));
    await snapshots.write(foreign, "old", snapshot(700));
    const present = new Map([
      ["note", "new"],
      ["other", "old"],
    ]);
    expect(await snapshots.outdated(present, 10)).to.deep.equal([long, short]);
    expect(await snapshots.outdated(present, 1)).to.deep.equal([long]);
  });
});
