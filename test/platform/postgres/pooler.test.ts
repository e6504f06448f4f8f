import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { createInterface } from "node:readline";
import { expect } from "chai";
import pg from "pg";
import type { Reads } from "#projections/reads.ts";
import { connectDatabase, type Database } from "#src/platform/postgres/database.ts";
import { createReads } from "#src/platform/postgres/reads.ts";
import { createTestDatabase, type TestDatabase } from "#test/support/postgres.ts";
import { freePort } from "../../../scripts/support/freePort.ts";

const pgbouncer = [...(process.env.PATH ?? "").split(delimiter), "/usr/sbin"]
  .map((folder) => join(folder, "pgbouncer"))
  .find((path) => existsSync(path));
const name = `behind PgBouncer in transaction mode${pgbouncer ? "" : " (skipped: it is not installed on this machine)"}`;

(pgbouncer ? describe : describe.skip)(name, () => {
  const [ours, theirs] = [randomUUID(), randomUUID()];
  let server: TestDatabase;
  let database: Database;
  let folder: string;
  let pooler: ChildProcess;
  let url: string;

  before(async () => {
    server = await createTestDatabase();
    database = connectDatabase(server);
    await database.owner.query("create schema if not exists read; create table read.toys (n int, workspace_id uuid)");
    await database.owner.query("select work.isolate('read.toys')");
    await database.owner.query("insert into read.toys values (1, $1), (2, $2), (3, $2)", [ours, theirs]);
    await database.owner.query(
      `grant usage on schema read to ${server.serviceRole}; grant select on read.toys to ${server.serviceRole}`,
    );
    await startPooler();
  });
  after(async () => {
    pooler?.kill("SIGKILL");
    await database?.close();
    await server?.drop();
    await rm(folder, { recursive: true, force: true });
  });

  /** Starts a pooler with one server session for all clients, which is assigned for each transaction. */
  async function startPooler(): Promise<void> {
    folder = await mkdtemp(join(tmpdir(), "countersign-pgbouncer-"));
    const port = await freePort();
    const { hostname, port: serverPort, pathname, username, password } = new URL(server.serviceUrl);
    const settings = join(folder, "pgbouncer.ini");
    await writeFile(
      settings,
      `[databases]
* = host=${hostname} port=${serverPort} dbname=${pathname.slice(1)} user=${username} password=${password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 1
`,
    );
    // The pooler refuses to run as root.
    const nobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
    await chmod(folder, 0o755);
    pooler = spawn(pgbouncer!, [settings], { ...nobody, stdio: ["ignore", "ignore", "pipe"] });
    const ended = once(pooler, "exit").then(() => Promise.reject(new Error("pgbouncer ended")));
    const lines = createInterface(pooler.stderr!);
    const up = new Promise<void>((resolve) => lines.on("line", (line) => line.includes("process up") && resolve()));
    await Promise.race([up, ended]);
    ended.catch(() => {});
    url = `postgres://anybody@127.0.0.1:${port}${pathname}`;
  }

  const whose = "select distinct workspace_id::text as of from read.toys";
  const owners = async (sql: Reads["ofNone"]) => (await sql.query<{ of: string }>(whose)).rows.map((row) => row.of);

  async function withPool<T>(use: (pool: pg.Pool) => Promise<T>): Promise<T> {
    const pool = new pg.Pool({ connectionString: url, max: 4, pipeline: true });
    pool.on("error", () => {}); // Its end does not wait for its sockets.
    try {
      return await use(pool);
    } finally {
      await pool.end();
    }
  }

  it("behind a pooler, a session setting reaches other callers: they would see another workspace's rows", () =>
    withPool(async (pool) => {
      const [one, other] = [await pool.connect(), await pool.connect()];
      try {
        for (const [client, workspace] of [
          [one, ours],
          [other, theirs],
        ] as const)
          await client.query("select set_config('countersign.workspace', $1, false)", [workspace]);
        expect((await one.query(whose)).rows).to.deep.equal([{ of: theirs }]);
        await one.query("discard all");
        expect((await other.query(whose)).rows).to.deep.equal([]);
      } finally {
        one.release();
        other.release();
      }
    }));

  it("behind a pooler, each of many concurrent reads sees its own workspace, and leaves no setting behind", () =>
    withPool(async (pool) => {
      const reads = createReads(pool, pool as never);
      const asked = Array.from({ length: 40 }, (_, n) => (n % 3 === 0 ? theirs : ours));
      const more = "select n from read.toys where n > $1 order by n";
      const seen = await Promise.all(
        asked.map(async (workspace, n) => {
          if (n % 2 === 0) return owners(reads.of(workspace));
          const { rows } = await reads.of(workspace).query<{ n: number }>(more, [n % 5 === 0 ? 0 : 2]);
          return rows.map((row) => row.n);
        }),
      );
      const expected = asked.map((workspace, n) => {
        if (n % 2 === 0) return [workspace];
        return (workspace === ours ? [1] : [2, 3]).filter((each) => each > (n % 5 === 0 ? 0 : 2));
      });
      expect(seen).to.deep.equal(expected);
      expect((await owners(reads.ofAll)).sort()).to.deep.equal([ours, theirs].sort());
      expect(await owners(reads.ofNone)).to.deep.equal([]);
      expect(pool.totalCount).to.equal(4);
    }));

  it("behind a pooler, several reads of a snapshot see one workspace, whoever reads between them", () =>
    withPool(async (pool) => {
      const reads = createReads(pool, pool as never);
      const seen = await Promise.all(
        [ours, theirs, ours].map((workspace) =>
          reads.snapshot(workspace, async (together) => {
            const first = await owners(together.of(workspace));
            const { rows } = await together.of(workspace).query("select n from read.toys where n < $1", [3]);
            return [first, rows];
          }),
        ),
      );
      const [us, them] = [
        [[ours], [{ n: 1 }]],
        [[theirs], [{ n: 2 }]],
      ];
      expect(seen).to.deep.equal([us, them, us]);
    }));
});
