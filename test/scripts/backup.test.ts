import { type ChildProcess, execFile, spawn } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { chmod, chown, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import pg from "pg";
import { readCheckpoint } from "#src/audit/checkpoint.ts";
import { checkCopies } from "#src/commands/audit/signGrownTrees.ts";
import { HeadContradicted, signHead } from "#src/commands/audit/signHead.ts";
import type { DatabaseUrls } from "#src/platform/postgres/database.ts";
import { prepareDatabase } from "#src/platform/postgres/prepare.ts";
import { runHere } from "#test/support/commandHere.ts";
import { createTestDatabase, type TestDatabase } from "#test/support/postgres.ts";
import { startSecondInstance } from "#test/support/secondInstance.ts";
import { until } from "../../scripts/support/client.ts";
import { freePort } from "../../scripts/support/freePort.ts";

const run = promisify(execFile);
const secretsKeys = `1:${Buffer.alloc(32).toString("base64")}`;

async function ask<Row extends pg.QueryResultRow>(url: string, sql: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url, options: "-c countersign.workspace=*" });
  await client.connect();
  return client.query<Row>(sql).then(
    ({ rows }) => client.end().then(() => rows),
    (error) => client.end().then(() => Promise.reject(error)),
  );
}

/** Returns the status with which the service answers its first API key. */
async function statusOf(urls: DatabaseUrls, apiKey: string): Promise<number> {
  const service = await startSecondInstance(urls);
  try {
    const me = () => fetch(`${service.url}/v1/workspaces/me`, { headers: { authorization: `Bearer ${apiKey}` } });
    await until("the service to be ready", async () => (await fetch(`${service.url}/readyz`)).status === 200);
    return (await me()).status;
  } finally {
    await service.stop();
  }
}

/** Starts the service on an empty database, which makes its first workspace, and stops it. Returns the API key. */
async function firstStart(urls: DatabaseUrls): Promise<string> {
  const service = await startSecondInstance(urls);
  await service.stop();
  return service.apiKey!;
}

const backUp = ({ ownerUrl, serviceUrl }: DatabaseUrls, file: string, folder: string) =>
  runHere("backup", [file], {
    ...{ DATABASE_URL: serviceUrl, DATABASE_OWNER_URL: ownerUrl, SECRETS_KEYS: secretsKeys },
    PATH: folder,
  });

describe("a database restored from a backup", () => {
  let database: TestDatabase;
  let folder: string;
  before(async () => {
    database = await createTestDatabase({ readModels: true });
    folder = await mkdtemp(join(tmpdir(), "countersign-backup-"));
  });
  after(async () => {
    await database.drop();
    await rm(folder, { recursive: true, force: true });
  });

  it("a database restored without the rows that row level security hides makes its read models again", async () => {
    const apiKey = await firstStart(database);
    expect((await prepareDatabase(database)).remakesReadModels).to.equal(false);
    const hidden = await ask<{ name: string }>(
      database.ownerUrl,
      "select oid::regclass::text as name from pg_class where relforcerowsecurity",
    );
    expect(hidden.length).to.be.above(10);
    for (const { name } of hidden) await ask(database.ownerUrl, `delete from ${name}`);
    expect((await prepareDatabase(database)).remakesReadModels).to.equal(true);
    expect((await prepareDatabase(database)).remakesReadModels).to.equal(false);
    expect(await statusOf(database, apiKey)).to.equal(200);
  });

  it("the backup command refuses a missing pg_dump, or one older than the server", async () => {
    const file = join(folder, "backup");
    const without = await backUp(database, file, folder);
    expect(without.code).to.equal(1);
    expect(without.err).to.match(
      /^There is no pg_dump in PATH: install PostgreSQL's client programs of version \d+ or newer\.\n$/,
    );
    await writeFile(join(folder, "pg_dump"), "#!/bin/sh\necho 'pg_dump (PostgreSQL) 9.6.1'\n");
    await chmod(join(folder, "pg_dump"), 0o755);
    const old = await backUp(database, file, folder);
    expect(old.err).to.match(/^The pg_dump in PATH has version 9, and the server \d+\.\d+: install .*\.\n$/);
    expect(await readdir(folder)).to.deep.equal(["pg_dump"]);
  });
});

/** Directory of a complete PostgreSQL installation, in which server and pg_dump have the same version. */
const debian = "/usr/lib/postgresql";
const installed = [
  ...(process.env.PATH ?? "").split(delimiter),
  ...(existsSync(debian) ? readdirSync(debian).map((version) => join(debian, version, "bin")) : []),
].find((folder) => ["pg_dump", "pg_restore", "initdb", "postgres"].every((name) => existsSync(join(folder, name))));
const title = `npm run backup${installed ? "" : " (skipped: PostgreSQL's programs are not installed on this machine)"}`;

(installed ? describe : describe.skip)(title, () => {
  const bin = installed!;
  // The server does not run as root.
  const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  let folder: string;
  let server: ChildProcess;
  let urlOf: (role: string, database: string) => string;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "countersign-backup-"));
    if (user.uid) await chown(folder, user.uid, user.gid);
    const data = join(folder, "data");
    await run(join(bin, "initdb"), ["-D", data, "-U", "admin", "-A", "trust", "-E", "UTF8", "--no-sync"], {
      ...user,
      cwd: folder,
    });
    const port = await freePort();
    urlOf = (role, name) => `postgres://${role}:${role}@127.0.0.1:${port}/${name}`;
    const settings = ["-p", `${port}`, "-k", folder, "-c", "fsync=off", "-c", "listen_addresses=127.0.0.1"];
    server = spawn(join(bin, "postgres"), ["-D", data, ...settings], { ...user, cwd: folder, stdio: "ignore" });
    const asAdmin = (sql: string) => ask(urlOf("admin", "postgres"), sql);
    await until("the server to answer", () => asAdmin("select 1").catch(() => undefined));
    for (const role of ["owner", "service"]) await asAdmin(`create role ${role} login password '${role}'`);
    for (const name of ["original", "restored"]) await asAdmin(`create database ${name} owner owner`);
  });
  after(async () => {
    if (server) {
      const ended = new Promise((resolve) => server.once("exit", resolve));
      server.kill("SIGQUIT");
      await ended;
    }
    await rm(folder, { recursive: true, force: true });
  });

  const urlsOf = (name: string): DatabaseUrls => ({
    ownerUrl: urlOf("owner", name),
    serviceUrl: urlOf("service", name),
  });

  /** Counts the rows of every table of the service. */
  async function counts(name: string): Promise<Record<string, number>> {
    const url = urlOf("owner", name);
    const tables = await ask<{ name: string }>(
      url,
      "select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname in ('es', 'read', 'work') order by 1",
    );
    const rows = tables
      .map(({ name }) => `select '${name}' as name, count(*)::int as n from ${name}`)
      .join(" union all ");
    return Object.fromEntries((await ask<{ name: string; n: number }>(url, rows)).map(({ name, n }) => [name, n]));
  }

  it("a backup has all data and is written as the owner; the service runs from its restoration", async () => {
    const original = urlsOf("original");
    await prepareDatabase(original);
    const apiKey = await firstStart(original);
    const file = join(folder, "backup");
    // Parameters of a hosted server's URL must not replace the session's workspace, without which row level security hides all rows.
    const ownerUrl = `${original.ownerUrl}?options=-c%20geqo%3Doff&statement_timeout=8000&application_name=mine`;
    const { code, out, err } = await backUp({ ...original, ownerUrl }, file, bin);
    expect([code, err]).to.deep.equal([0, ""]);
    expect(out).to.include(`${file}: the whole database`);

    const restored = urlsOf("restored");
    await run(join(bin, "pg_restore"), ["--exit-on-error", `--dbname=${restored.ownerUrl}`, file]);
    expect(await counts("restored")).to.deep.equal(await counts("original"));
    expect((await counts("restored"))["read.api_keys"]).to.equal(1);
    expect(await prepareDatabase(restored)).to.include({ oneRole: false, remakesReadModels: false });
    expect(await statusOf(restored, apiKey)).to.equal(200);
  });

  it("a restored log that contradicts a signed head outside the database is not signed until a new epoch names that head", async () => {
    const original = urlsOf("audited");
    const restored = urlsOf("auditedAgain");
    for (const name of ["audited", "auditedAgain"])
      await ask(urlOf("admin", "postgres"), `create database "${name}" owner owner`);
    await prepareDatabase(original);
    const settings = { SECRETS_KEYS: secretsKeys, AUDIT_HEAD_DIR: join(folder, "heads") };

    const first = await startSecondInstance(original, settings);
    const assist = (url: string, name: string) =>
      fetch(`${url}/v1/assistants`, {
        method: "POST",
        headers: { authorization: `Bearer ${first.apiKey}`, "content-type": "application/json" },
        body: JSON.stringify({ name }),
      });
    const grow = async ({ url, deps }: typeof first, name: string) => {
      expect((await assist(url, name)).status).to.equal(200);
      await until("the audit tree", async () => deps.projected(await deps.store.head(), { of: ["auditTree"] }));
    };
    await grow(first, "before");
    const { rows } = await first.deps.reads.ofAll.query<{ id: string }>("select id from workspaces");
    const treeId = rows[0]!.id;
    await signHead(first.deps, treeId);
    const file = join(folder, "audited");
    expect((await backUp(original, file, bin)).code).to.equal(0);
    await grow(first, "lost 1");
    await grow(first, "lost 2");
    const lost = await signHead(first.deps, treeId);
    await first.stop();

    await run(join(bin, "pg_restore"), ["--exit-on-error", `--dbname=${restored.ownerUrl}`, file]);
    await prepareDatabase(restored);
    const again = await startSecondInstance(restored, settings);
    const audit = (...args: string[]) =>
      runHere("audit", args, {
        ...{ DATABASE_URL: restored.serviceUrl, DATABASE_OWNER_URL: restored.ownerUrl },
        ...settings,
      });
    try {
      const readiness = async () => (await fetch(`${again.url}/readyz`)).text();
      await until("the service to be ready", async () => (await readiness()).includes('"ready"'));
      await until("the audit tree", async () =>
        again.deps.projected(await again.deps.store.head(), { of: ["auditTree"] }),
      );
      const refused: unknown[] = [];
      const handlers = { onError: (error: unknown) => refused.push(error), stopping: new AbortController().signal };
      expect(await checkCopies(again.deps, handlers)).to.equal(true);
      expect(refused.map((error) => error instanceof HeadContradicted)).to.deep.equal([true]);
      const named = `heads, so nothing is signed: ${treeId}; after a restore`;
      await until("/readyz to name the tree", async () => (await readiness()).includes(named));
      await signHead(again.deps, treeId).then(
        () => expect.fail("signed"),
        (error) => expect(error).to.be.instanceOf(HeadContradicted),
      );

      const unexplained = await audit("new-epoch", "--all");
      expect(unexplained.err).to.match(/^--reason: /);
      const { err, out } = await audit("new-epoch", "--all", "--reason", "a disk failed");
      expect(err).to.equal("");
      expect(out).to.match(new RegExp(`^Audit tree ${treeId}: epoch 2 has begun; its first head has \\d+ entries.\n$`));
      await until("/readyz to name no tree", async () => !(await readiness()).includes(treeId));
      const [begun] = await again.deps.store.read(`auditEpoch-${treeId}`);
      const { origin } = readCheckpoint(lost.checkpoint)!;
      expect(begun!.data).to.deep.equal({
        epoch: 2,
        reason: "a disk failed",
        last: { origin, size: lost.size, root: lost.root.toString("base64") },
      });
      await grow(again, "after");
      const signed = await signHead(again.deps, treeId);
      expect(signed.epoch).to.equal(2);
      expect((await audit("new-epoch", "--workspace", treeId, "--reason", "again")).err).to.match(
        /^This audit tree continues its signed heads/,
      );
      const copy = join(folder, "heads", `audit-head-${treeId}.txt`);
      expect(await readFile(copy, "utf8")).to.equal(signed.checkpoint);
    } finally {
      await again.stop();
    }
  });

  it("the backup command leaves no file if pg_dump fails, and repeats its message", async () => {
    const file = join(folder, "refused");
    const { code, err } = await backUp({ ...urlsOf("original"), ownerUrl: urlOf("service", "original") }, file, bin);
    expect(code).to.equal(1);
    expect(err).to.match(/^There is no backup: pg_dump: error: .*permission denied/s);
    expect((await readdir(folder)).filter((name) => name.startsWith("refused"))).to.deep.equal([]);
  });
});
