import { expect } from "chai";
import pg from "pg";
import { noStream } from "#src/eventStore/eventStore.ts";
import { createPostgresEventStore } from "#src/eventStore/postgres/store.ts";
import { createTestDatabase, type TestDatabase } from "#test/support/postgres.ts";
import { errorOf, idsOf, newEvents, newStream } from "../contract/support.ts";
import { asOwner, asService } from "./support.ts";

const changes = [
  "update es.events set type = 'Other'",
  "update es.events set type = 'Other' where false",
  "delete from es.events",
  "delete from es.events where false",
  "truncate es.events",
];
const otherThings = [
  `insert into es.events (position, stream_id, revision, event_id, type, schema_version, data, metadata, bytes)
    values (1000000, 'draft-1', 0, gen_random_uuid(), 'T', 1, '{}', '{}', 4)`,
  "copy es.events (position) from program 'true'",
  "alter table es.events disable trigger append_only",
  "alter table es.events rename to gone",
  "drop table es.events",
  `drop function es.append(text[], bigint[], integer[], integer[], integer[], text[], bigint[],
    integer[], integer[], uuid[], text[], smallint[], text[], text[])`,
  "create table es.more ()",
  "create or replace function es.refuse_change() returns trigger language plpgsql as 'begin return null; end'",
  "set session_replication_role = replica",
];

describe("The event log in PostgreSQL is append-only", () => {
  let database: TestDatabase;
  const stream = newStream();
  const events = newEvents(3);

  before(async () => {
    database = await createTestDatabase();
    const store = createPostgresEventStore({ connectionString: database.serviceUrl });
    await store.append(stream, noStream, events);
    await store.close();
  });
  after(() => database.drop());

  afterEach(async () => {
    const rows = await asOwner<{ id: string }>(database, "select event_id as id from es.events order by position");
    expect(idsOf(rows)).to.deep.equal(idsOf(events));
  });

  for (const sql of [...changes, ...otherThings]) {
    it(`the log is append-only for the service's role: ${sql.split("\n")[0]}`, async () => {
      const error = await errorOf(asService(database, sql));
      expect(error).to.be.instanceOf(pg.DatabaseError).and.to.have.property("code", "42501");
    });
  }

  for (const sql of changes) {
    it(`the log is append-only for the role that owns it: ${sql}`, async () => {
      const error = await errorOf(asOwner(database, sql));
      expect(error).to.be.instanceOf(pg.DatabaseError).and.to.have.property("message").that.includes("append-only");
    });
  }

  it("the append function works the same whatever the caller's search path holds", async () => {
    const shadowed = "create temp table events (like es.events); set search_path = pg_temp, pg_catalog;";
    const append = (expected: number) =>
      `select appended_position, actual_revision from es.append(array['draft-1'], array[${expected}], array[1], array[1],
        array[null]::integer[], array[null]::text[], array[null]::bigint[],
        array[1], array[1], array[gen_random_uuid()], array['T'], array[1::smallint], array['{}'], array['{}'])`;
    // The append is refused because the stream does not exist in the log; the table that shadowed the log stays empty.
    const [refused] = await asService(database, `${shadowed} ${append(0)}`);
    expect(refused).to.deep.equal({ appended_position: null, actual_revision: "-1" });
    const [left] = await asService(
      database,
      `${shadowed} select 1 from ${asQuery(append(0))}; select count(*) from events`,
    );
    expect(left).to.deep.equal({ count: "0" });
  });
});

const asQuery = (sql: string): string => `(${sql}) as asked`;
