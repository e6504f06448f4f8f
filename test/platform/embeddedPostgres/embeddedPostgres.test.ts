import { type ChildProcess, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import pg from "pg";
import { pino } from "pino";
import { prepareDirectories } from "#src/platform/embeddedPostgres/directories.ts";
import {
  type EmbeddedOptions,
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from "#src/platform/embeddedPostgres/embeddedPostgres.ts";
import { launch, socketDirectory } from "#src/platform/embeddedPostgres/postmaster.ts";
import { connectDatabase } from "#src/platform/postgres/database.ts";
import { StartError } from "#src/platform/startError.ts";
import { itInFull } from "#test/support/full.ts";
import { nodeArguments } from "../../../scripts/support/childProcess.ts";

const logger = pino({ level: "silent" });
const asRoot = process.getuid?.() === 0;

async function ask(url: string, sql: string): Promise<pg.QueryResult> {
  const client = new pg.Client(url);
  await client.connect();
  return client.query(sql).finally(() => client.end());
}

const start = (dataDir: string, options: Partial<EmbeddedOptions> = {}) =>
  startEmbeddedPostgres({ dataDir, logger, ...options });

async function refusal(starting: Promise<EmbeddedPostgres>): Promise<string> {
  const error = await starting.then(
    async (server) => {
      await server.stop();
      throw new Error("it started");
    },
    (reason) => reason,
  );
  expect(error).to.be.instanceOf(StartError);
  return error.message;
}

/** Returns every process whose command line names the directory. */
async function processesOf(directory: string): Promise<string[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name) && name !== String(process.pid));
  const commands = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")));
  return commands.filter((command) => command.includes(directory));
}

type Kept = { child: ChildProcess; serviceUrl: string; ownerUrl: string; pid: number };

/** Starts the same in a separate process, which can be killed. */
async function keep(dataDir: string): Promise<Kept> {
  const [flag, script] = nodeArguments("test/support/keepEmbedded.ts");
  const child = fork(script, [dataDir], { execArgv: [flag], stdio: "inherit" });
  const [urls] = await once(child, "message");
  return { child, ...urls };
}

const isThere = (file: string): Promise<boolean> =>
  stat(file).then(
    () => true,
    () => false,
  );

async function killed(child: ChildProcess): Promise<void> {
  child.kill("SIGKILL");
  await once(child, "exit");
}

describe("the embedded PostgreSQL", () => {
  let home: string;
  let dataDir: string;
  let atOnce: PromiseSettledResult<EmbeddedPostgres>[];
  const startedOf = (outcomes: typeof atOnce) =>
    outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []));
  before(async () => {
    home = await mkdtemp(join(tmpdir(), "countersign-embedded-"));
    await chmod(home, 0o755);
    dataDir = join(home, "data");
    // Starts a new server twice concurrently: one start must fail. Later tests expect the row that is inserted here.
    atOnce = await Promise.allSettled([start(dataDir), start(dataDir)]);
    const [server] = startedOf(atOnce) as [EmbeddedPostgres];
    await ask(server.ownerUrl, "create table kept (word text)");
    await ask(server.ownerUrl, "insert into kept values ('still here')");
    await server.stop();
  });
  after(() => rm(home, { recursive: true, force: true }));

  const expectKept = async (server: { ownerUrl: string }) =>
    expect((await ask(server.ownerUrl, "select word from kept")).rows).to.deep.equal([{ word: "still here" }]);

  it("the embedded PostgreSQL starts again on its data, and leaves nothing running", async () => {
    const server = await start(dataDir);
    await expectKept(server);
    expect(await processesOf(server.directory)).not.to.deep.equal([]);
    await server.stop();
    expect(await processesOf(server.directory)).to.deep.equal([]);
  });

  it("the embedded PostgreSQL is durable, on loopback alone, with passwords only its owner can read", async () => {
    const server = await start(dataDir);
    const show = async (name: string) => (await ask(server.adminUrl, `show ${name}`)).rows[0][name];
    expect(await show("fsync")).to.equal("on");
    expect(await show("synchronous_commit")).to.equal("on");
    expect(await show("listen_addresses")).to.equal("127.0.0.1");
    const wrong = server.serviceUrl.replace(/:[^:@]+@/, ":wrong@");
    const failure = await ask(wrong, "select 1").catch((error) => error);
    expect(failure.code).to.equal("28P01");
    expect((await stat(join(dataDir, "postgres.json"))).mode & 0o777).to.equal(0o600);
    await server.stop();
  });

  it("the embedded PostgreSQL is reached over a Unix socket in its data, and by the same URL over TCP", async () => {
    const server = await start(dataDir);
    const address = async (url: string) => (await ask(url, "select inet_client_addr() as address")).rows[0].address;
    expect(await address(server.serviceUrl)).to.equal(null);
    expect(await address(server.serviceUrl.replace(/\?.*/, ""))).to.equal("127.0.0.1");
    await server.stop();
    expect(socketDirectory({ pgdata: `/${"long/".repeat(20)}` })).to.equal("");
  });

  it("the embedded PostgreSQL is scheduled as a batch on Linux, and starts without `chrt` too", async function () {
    if (process.platform !== "linux") return this.skip();
    /** Returns the Linux scheduling policy of a backend: 3 is SCHED_BATCH, 0 the default. */
    const policyOfBackend = async (server: EmbeddedPostgres): Promise<number> => {
      const client = new pg.Client(server.adminUrl);
      await client.connect();
      const { rows } = await client.query("select pg_backend_pid() as pid");
      const stat = await readFile(`/proc/${rows[0].pid}/stat`, "utf8");
      await client.end();
      return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[38]);
    };
    const path = process.env.PATH;
    const folders = (path ?? "").split(":");
    const hasChrt = (await Promise.all(folders.map((folder) => isThere(join(folder, "chrt"))))).includes(true);
    const server = await start(dataDir);
    expect(await policyOfBackend(server)).to.equal(hasChrt ? 3 : 0);
    await server.stop();
    process.env.PATH = home;
    const plain = await start(dataDir).finally(() => {
      process.env.PATH = path;
    });
    expect(await policyOfBackend(plain)).to.equal(0);
    await plain.stop();
  });

  it("the embedded PostgreSQL is started again if it dies while it is being scheduled", async function () {
    if (process.platform !== "linux") return this.skip();
    const path = process.env.PATH;
    const folder = join(home, "deadly");
    await mkdir(folder);
    // A program that kills the first server that it is given, and then waits.
    await writeFile(
      join(folder, "chrt"),
      `#!/bin/sh\n[ -d ${folder}/once ] || { kill -9 $4; mkdir ${folder}/once; sleep 1; }\n`,
      {
        mode: 0o755,
      },
    );
    const server = await start(dataDir);
    try {
      process.env.PATH = `${folder}:${path}`;
      process.kill(server.pid(), "SIGKILL");
      while (!(await isThere(join(folder, "once")))) await new Promise((resolve) => setTimeout(resolve, 20));
      const answers = () =>
        expectKept(server).then(
          () => true,
          () => false,
        );
      while (!(await answers())) await new Promise((resolve) => setTimeout(resolve, 50));
    } finally {
      process.env.PATH = path;
      await server.stop();
    }
  });

  it("the embedded PostgreSQL's service role has no rights on anything", async () => {
    const server = await start(dataDir);
    for (const sql of [
      "create schema own",
      "create table public.own ()",
      "create temp table own ()",
      "select * from kept",
    ]) {
      const failure = await ask(server.serviceUrl, sql).catch((error) => error);
      expect(failure.code, sql).to.equal("42501");
    }
    await server.stop();
  });

  for (const wait of [0, 300])
    it(`a PostgreSQL left running by a process killed ${wait} ms ago is stopped, and its data used again`, async () => {
      const { child, pid } = await keep(dataDir);
      await killed(child);
      await new Promise((resolve) => setTimeout(resolve, wait));
      const server = await start(dataDir);
      expect(server.pid()).not.to.equal(pid);
      expect(await processesOf(server.directory), "two never run on one directory").to.have.length(1);
      await expectKept(server);
      await server.stop();
      expect(await processesOf(server.directory)).to.deep.equal([]);
    });

  it("an embedded PostgreSQL that was left running is started once by two processes that find it", async () => {
    const { child } = await keep(dataDir);
    await killed(child);
    const outcomes = await Promise.allSettled([start(dataDir), start(dataDir)]);
    const started = startedOf(outcomes);
    expect(started).to.have.length(1);
    await expectKept(started[0]!);
    await started[0]!.stop();
  });

  it("the embedded PostgreSQL starts over the lock of a killed server", async () => {
    const { child, pid } = await keep(dataDir);
    child.kill("SIGKILL");
    process.kill(pid, "SIGKILL");
    await once(child, "exit");
    const server = await start(dataDir);
    expect(server.pid()).not.to.equal(pid);
    await expectKept(server);
    const sockets = (await readdir(join(server.directory, "pgdata"))).filter((name) => name.startsWith(".s."));
    expect(sockets, "the killed server's are gone").to.have.length(2);
    await server.stop();
  });

  it("the embedded PostgreSQL starts over a lock whose process id now belongs to another program", async () => {
    const { child, pid } = await keep(dataDir);
    child.kill("SIGKILL");
    process.kill(pid, "SIGKILL");
    await once(child, "exit");
    const { pgdata } = await prepareDirectories(dataDir);
    // Runs as the same user: PostgreSQL detects a process of another user by itself.
    const { uid, gid } = await stat(pgdata);
    const stranger = spawn("sleep", ["60"], asRoot ? { uid, gid, cwd: "/" } : {});
    const lock = join(pgdata, "postmaster.pid");
    await writeFile(lock, (await readFile(lock, "utf8")).replace(/^\d+/, String(stranger.pid)));
    const server = await start(dataDir);
    await expectKept(server);
    expect(stranger.exitCode).to.equal(null);
    stranger.kill();
    await server.stop();
  });

  it("one service at a time keeps the embedded PostgreSQL, another is told which, and commands can use it", async () => {
    const { child, pid, ownerUrl } = await keep(dataDir);
    const message = await refusal(start(dataDir));
    expect(message).to.include(`process ${child.pid}`).and.to.include(dataDir);
    const beside = await start(dataDir, { beside: true });
    expect(beside.pid()).to.equal(pid);
    await expectKept(beside);
    await beside.stop();
    await expectKept({ ownerUrl });
    child.kill("SIGTERM");
    await once(child, "exit");
    await (await start(dataDir)).stop();
  });

  it("a service that stopped does not stop the embedded PostgreSQL of a later one", async () => {
    const server = await start(dataDir);
    await server.stop();
    const { child, ownerUrl } = await keep(dataDir);
    await server.stop();
    await expectKept({ ownerUrl });
    await killed(child);
    await (await start(dataDir)).stop();
  });

  it("a command starts and stops the embedded PostgreSQL if no service runs", async () => {
    const server = await start(dataDir, { beside: true });
    await expectKept(server);
    await server.stop();
    expect(await processesOf(server.directory)).to.deep.equal([]);
  });

  it("the embedded PostgreSQL is started again when it dies, at the same place, and connections return", async () => {
    const server = await start(dataDir);
    const database = connectDatabase(server);
    expect((await database.query("select 1 as one")).rows).to.deep.equal([{ one: 1 }]);
    const before = server.pid();
    process.kill(before, "SIGKILL");
    while (server.pid() === before) await new Promise((resolve) => setTimeout(resolve, 20));
    expect((await database.query("select 1 as one")).rows).to.deep.equal([{ one: 1 }]);
    await expectKept(server);
    await database.close();
    await server.stop();
    expect(await processesOf(server.directory)).to.deep.equal([]);
  });

  it("the embedded PostgreSQL notices a port in use", async () => {
    const listener = createServer().listen(0, "127.0.0.1");
    await once(listener, "listening");
    const { port } = listener.address() as { port: number };
    expect(await launch(await prepareDirectories(dataDir), port)).to.equal(undefined);
    listener.close();
  });

  it("the embedded PostgreSQL started twice at once on an empty folder has one keeper", () => {
    const refused = atOnce.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason] : []));
    expect(startedOf(atOnce)).to.have.length(1);
    expect(refused[0]).to.be.instanceOf(StartError);
    expect(refused[0].message).to.match(/^Another service/);
  });

  it("the embedded PostgreSQL says in one sentence that the data are of another version", async () => {
    const old = join(home, "old");
    const { pgdata } = await prepareDirectories(old);
    await mkdir(pgdata);
    await writeFile(join(pgdata, "PG_VERSION"), "15\n");
    expect(await refusal(start(old))).to.match(/made by PostgreSQL 15, but this service uses PostgreSQL 18/);
  });

  it("the embedded PostgreSQL says in one sentence that DATA_DIR is not a directory", async () => {
    await writeFile(join(home, "file"), "");
    for (const path of ["file", "file/below"])
      expect(await refusal(start(join(home, path)))).to.match(/is not a directory/);
  });

  it("the embedded PostgreSQL says in one sentence that DATA_DIR cannot be written", async () => {
    const closed = join(home, "closed");
    await mkdir(closed, { mode: 0o500 });
    // Root can write everywhere except in the kernel's own file systems.
    expect(await refusal(start(asRoot ? "/sys/countersign" : join(closed, "data")))).to.match(/cannot be written/);
  });

  it("the embedded PostgreSQL says in one sentence that its password is gone", async () => {
    const orphan = join(home, "orphan");
    await mkdir(join(orphan, "postgres", "pgdata"), { recursive: true });
    expect(await refusal(start(orphan))).to.match(/postgres\.json is missing/);
  });

  itInFull("runs below a directory that only its owner may enter", async () => {
    const closed = join(home, "home");
    await mkdir(closed, { mode: 0o700 });
    const below = join(closed, "data");
    const server = await start(below);
    expect(server.directory.startsWith(below)).to.equal(!asRoot);
    await ask(server.ownerUrl, "create table kept as select 'still here' as word");
    await server.stop();
    const again = await start(below);
    expect(again.directory).to.equal(server.directory);
    await expectKept(again);
    await again.stop();
    await rm(server.directory, { recursive: true });
  });
});
