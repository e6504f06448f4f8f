import { randomUUID } from "node:crypto";
import { expect } from "chai";
import pg from "pg";
import { projections } from "#projections/index.ts";
import type { Reads } from "#projections/reads.ts";
import { createPostgresEventStore } from "#src/eventStore/postgres/store.ts";
import { connectDatabase, type Database } from "#src/platform/postgres/database.ts";
import { createReads } from "#src/platform/postgres/reads.ts";
import { tablesFile } from "#src/runtime/projections/projectionTables.ts";
import { rebuild } from "#src/runtime/projections/rebuild.ts";
import { verify } from "#src/runtime/projections/verify.ts";
import { type InProcess, mail, startInProcess, type Workspace } from "#test/support/inProcess.ts";

type Policed = { name: string; enabled: boolean; forced: boolean; owner: string; policies: string[] };

const policed = `
  select c.relname as name, c.relrowsecurity as enabled, c.relforcerowsecurity as forced,
    pg_get_userbyid(c.relowner) as owner, array(select polname::text from pg_policy p where p.polrelid = c.oid order by 1) as policies
  from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'workspace_id'
  where c.relnamespace = 'read'::regnamespace and c.relkind = 'r' order by 1`;

describe("isolation by row level security", () => {
  let service: InProcess;
  let database: Database;
  let ours: Workspace;
  let theirs: Workspace;

  before(async () => {
    service = await startInProcess();
    database = service.database;
    [ours, theirs] = [await service.workspace(), await service.workspace()];
    for (const tenant of [ours, theirs]) {
      const identity = await service.identity(tenant.id);
      await service.deliver(identity.address, mail({ id: `${randomUUID()}@customer.example`, to: identity.address }));
      const thread = (await tenant.ask("GET /v1/threads")).json.data[0];
      const { messages } = (await tenant.ask(`GET /v1/threads/${thread.id}`)).json;
      const about = { thread_id: thread.id, identity_id: identity.id, based_on_message_id: messages[0].id };
      const draft = await tenant.ask("POST /v1/drafts", { json: { ...about, body_text: "Soon." } });
      expect(draft.status).to.equal(201);
    }
  });
  after(() => service.stop());

  const tables = async () => (await database.query<Policed>(policed)).rows;
  const seenBy = async (sql: Reads["ofNone"], table: string): Promise<string[]> =>
    (await sql.query<{ of: string }>(`select distinct workspace_id::text as of from ${table}`)).rows.map(
      (row) => row.of,
    );

  it("row level security holds on every table with a workspace, for its owner too, and the service owns none [d5 row level security]", async () => {
    const found = await tables();
    expect(found.map(({ name }) => name)).to.include.members([
      "workspaces",
      "threads",
      "messages",
      "drafts",
      "api_keys",
    ]);
    const { rows } = await database.query<{ role: string; super: boolean; bypass: boolean }>(
      "select current_user as role, rolsuper as super, rolbypassrls as bypass from pg_roles where rolname = current_user",
    );
    for (const table of found) {
      expect(table, table.name).to.include({ enabled: true, forced: true });
      expect(table.policies, table.name).to.include("own_workspace");
      expect(table.owner).to.not.equal(rows[0]!.role);
    }
    expect(rows[0]).to.include({ super: false, bypass: false });
  });

  it("a query without WHERE sees only the rows of its workspace, and no rows without a workspace", async () => {
    for (const { name } of await tables()) {
      expect(await seenBy(database.reads.of(ours.id), name), name).to.have.members(
        (await seenBy(database.reads.ofAll, name)).filter((id) => id === ours.id),
      );
      expect(await seenBy(database.reads.ofNone, name), name).to.deep.equal([]);
      expect(await seenBy(database, name), name).to.deep.equal([]);
    }
    expect(await seenBy(database.reads.ofAll, "threads")).to.have.members([ours.id, theirs.id]);
  });

  it("a statement can neither change another workspace's rows nor move a row there; reads change nothing", async () => {
    const write = (text: string, values: unknown[] = []) =>
      database.transaction(async (tx) => {
        await tx.query("select set_config('countersign.workspace', $1, true)", [ours.id]);
        return tx.query(text, values);
      });
    expect((await write("update read.threads set subject = 'mine now'")).rowCount).to.equal(1);
    const moved = await write("update read.threads set workspace_id = $1", [theirs.id]).catch((error) => error);
    expect(moved).to.have.property("code", "42501");
    await write("update read.threads set subject = 'My order'");
    const read = database.reads.of(ours.id).query("update threads set subject = 'mine now'");
    expect(await read.catch(({ cause }) => cause)).to.have.property("code", "25006");
  });

  it("reads of an empty, wildcard or malformed workspace id throw", () => {
    // Values that the types do not allow.
    for (const none of ["", "*", "null", `${ours.id} or true`, undefined as unknown as string])
      expect(() => database.reads.of(none), String(none)).to.throw(TypeError);
  });

  describe("reads that share one connection", () => {
    let pool: pg.Pool;
    let reads: Reads;
    beforeEach(() => {
      const { connectionString } = database.pool.options;
      pool = new pg.Pool({ connectionString, options: "-c search_path=read", max: 1, pipeline: true });
      pool.on("error", () => {}); // Its end does not wait for its sockets.
      reads = createReads(pool, database);
    });
    afterEach(() => pool.end());
    const whose = "select distinct workspace_id::text as of from threads";
    const pid = async (sql: Reads["ofNone"]) => (await sql.query("select pg_backend_pid() as pid")).rows[0]!.pid;

    it("concurrent reads of two workspaces on one connection each see only their own rows", async () => {
      const asked = Array.from({ length: 200 }, (_, n) => (n % 3 === 0 ? theirs.id : ours.id));
      const seen = await Promise.all(asked.map((id) => reads.of(id).query<{ of: string }>(whose)));
      expect(seen.map(({ rows }) => rows.map(({ of }) => of))).to.deep.equal(asked.map((id) => [id]));
      expect(pool.totalCount).to.equal(1);
    });

    it("a read leaves no workspace set on its connection, even after an error", async () => {
      for (const id of [ours.id, ours.id, theirs.id, ours.id]) {
        const asked = reads.of(id);
        expect((await asked.query<{ of: string }>(whose)).rows).to.deep.equal([{ of: id }]);
        await asked.query("select no_such_column").catch(() => {});
        const { rows } = await pool.query(
          "select coalesce(current_setting('countersign.workspace', true), '') as left, (select count(*)::int from threads) as seen",
        );
        expect(rows).to.deep.equal([{ left: "", seen: 0 }]);
      }
      expect(pool.totalCount).to.equal(1);
    });

    it("the reads of a snapshot see one state and one workspace; later reads see newer state and other workspaces", async () => {
      const names = "select name from workspaces";
      const rename = (name: string) =>
        database.owner.query("update read.workspaces set name = $1 where id = $2", [name, ours.id]);
      await rename("Before");
      const seen = await reads.snapshot(ours.id, async (together) => {
        const first = (await together.of(ours.id).query(names)).rows;
        await rename("After");
        expect(() => together.of(theirs.id)).to.throw("one workspace");
        return [first, (await together.of(ours.id).query(names)).rows];
      });
      expect(seen).to.deep.equal([[{ name: "Before" }], [{ name: "Before" }]]);
      expect((await reads.of(ours.id).query(names)).rows).to.deep.equal([{ name: "After" }]);
      const refused = await reads
        .snapshot(ours.id, (together) => together.of(ours.id).query("select no"))
        .catch((e) => e);
      expect(refused.message).to.include("does not exist");
      expect((await reads.of(theirs.id).query<{ of: string }>(whose)).rows).to.deep.equal([{ of: theirs.id }]);
    });

    it("a read fails and sees no rows if its workspace cannot be set", async () => {
      const client = await pool.connect();
      const query = client.query.bind(client) as (...given: unknown[]) => unknown;
      const seen: number[] = [];
      client.query = ((sent: pg.QueryConfig | string, answered: (error: unknown, answer: pg.QueryResult) => void) => {
        const changed = typeof sent === "string" ? sent.replace("set local", "set no") : sent;
        return query(changed, (error: unknown, answer: pg.QueryResult) => {
          if (typeof sent !== "string") seen.push(answer?.rows.length ?? 0);
          answered(error, answer);
        });
      }) as never;
      client.release();
      const refused = await reads
        .of(theirs.id)
        .query(whose)
        .catch((error) => error);
      expect(refused).to.have.property("code", "42601");
      // PostgreSQL ran the query outside of a transaction and returned no row.
      expect(seen).to.deep.equal([0]);
      client.query = query as never;
      expect((await reads.of(theirs.id).query<{ of: string }>(whose)).rows).to.deep.equal([{ of: theirs.id }]);
    });

    it("a malformed or failing statement is refused, and the next statement on its connection works", async () => {
      for (const [text, values, code] of [
        ["selekt 1 where $1 = 1", [1], "42601"],
        ["select 1 / $1::int", [0], "22012"],
        ["select 1; select 2", undefined, "42601"],
      ] as const) {
        for (let times = 0; times < 2; times++) {
          const refused = await reads
            .of(ours.id)
            .query(text, values)
            .catch((error) => error);
          expect(refused, text).to.have.property("code", code);
          expect((await reads.of(theirs.id).query<{ of: string }>(whose)).rows).to.deep.equal([{ of: theirs.id }]);
        }
      }
      expect((await reads.of(ours.id).query<{ n: number }>("select 6 / $1::int as n", [3])).rows).to.deep.equal([
        { n: 2 },
      ]);
    });

    it("a read of a table that was rebuilt with other columns works on an older connection", async () => {
      const { owner } = database;
      await owner.query("create table read.toy (id int, workspace_id uuid)");
      await owner.query("insert into read.toy values (1, $1), (2, $2)", [ours.id, theirs.id]);
      const service = (await database.query("select current_user as role")).rows[0]!.role;
      const settle = () => owner.query(`grant select on read.toy to ${service}; select work.isolate('read.toy')`);
      await settle();
      const toys = () => reads.of(ours.id).query("select * from toy where id > $1", [0]);
      try {
        expect((await toys()).rows).to.deep.equal([{ id: 1, workspace_id: ours.id }]);
        await owner.query(
          "alter table read.toy rename to old_toy; create table read.toy as select id::text::bigint * 10 as id, workspace_id from read.old_toy",
        );
        await settle();
        expect((await toys()).rows.map(({ id }) => Number(id))).to.deep.equal([10]);
      } finally {
        await owner.query("drop table if exists read.toy, read.old_toy");
      }
    });

    it("a failing statement leaves its connection open for the next", async () => {
      const before = await pid(reads.of(ours.id));
      const refused = await reads
        .of(ours.id)
        .query("select 1 / 0")
        .catch((error) => error);
      expect(refused).to.have.property("code", "22012");
      expect(await pid(reads.of(ours.id))).to.equal(before);
      expect((await reads.of(ours.id).query<{ of: string }>(whose)).rows).to.deep.equal([{ of: ours.id }]);
    });
  });

  it("the look-ups across workspaces find single things and leave the connection without rights", async () => {
    const key = await database.query("select count(*)::int as n from work.api_key_by_hash('nobody''s')");
    expect(key.rows[0]!.n).to.equal(0);
    for (const tenant of [ours, theirs]) expect((await tenant.ask("GET /v1/threads")).status).to.equal(200);
    // A look-up sets its own rights only for itself: afterwards the connection has none.
    await database.query("select * from work.identities_by_address(array['x@y.example'])");
    expect(await seenBy(database, "identities")).to.deep.equal([]);
    const { rows } = await database.query<{ name: string }>(
      `select p.proname as name from pg_proc p where p.prosecdef and p.pronamespace = 'work'::regnamespace
         and not coalesce(p.proconfig @> array['search_path=read, pg_temp'], false)`,
    );
    expect(rows, "a definer's function without a pinned search_path").to.deep.equal([]);
  });

  it("row level security and all rows are the same after a rebuild of the read models", async () => {
    const store = createPostgresEventStore({ connectionString: database.pool.options.connectionString! });
    const replay = { store, database, tablesSql: tablesFile, signal: new AbortController().signal };
    try {
      const before = await tables();
      expect(await rebuild(replay, projections)).to.deep.equal(new Map());
      for (const projection of projections) {
        const verified = await verify(replay, projection);
        expect(verified.differences, projection.name).to.deep.equal([]);
      }
      // Two threads, each counted in two tables.
      expect((await verify(replay, projections.find(({ name }) => name === "threads")!)).rows).to.equal(6);
      expect(await tables()).to.deep.equal(before);
      expect(await seenBy(database.reads.of(ours.id), "threads")).to.deep.equal([ours.id]);
    } finally {
      await store.close();
    }
  });

  it("row level security holds where one role owns the tables and uses them", async () => {
    const url = database.pool.options.connectionString!.replaceAll("_service", "_owner");
    const asOwner = connectDatabase({ serviceUrl: url, ownerUrl: url });
    try {
      expect(await seenBy(asOwner, "threads")).to.deep.equal([]);
      expect(await seenBy(asOwner.reads.of(theirs.id), "threads")).to.deep.equal([theirs.id]);
      const found = await asOwner.query("select workspace_id::text as of from work.identities_by_address($1)", [
        (await database.reads.of(theirs.id).query("select email_address from identities")).rows.map(
          (row) => row.email_address,
        ),
      ]);
      expect(found.rows).to.deep.equal([{ of: theirs.id }]);
    } finally {
      await asOwner.close();
    }
  });
});
