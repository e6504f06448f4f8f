import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "chai";
import pg from "pg";
import { pino } from "pino";
import { startEmbeddedPostgres } from "#src/platform/embeddedPostgres/embeddedPostgres.ts";
import { prepareDatabase } from "#src/platform/postgres/prepare.ts";
import { startSender } from "#test/mail/in/smtpSender.ts";
import { createTestDatabase } from "#test/support/postgres.ts";
import { type ServiceOptions, startService } from "#test/support/service.ts";
import { nodeArguments } from "../../scripts/support/childProcess.ts";

const living = nodeArguments("test/support/livingProcess.ts");
const command = (...args: string[]) => [process.execPath, ...living, ...args];

/** Starts a child and records its output; `said` waits for a text in it. */
function start([program, ...args]: string[]) {
  const child = spawn(program!, args, { stdio: ["ignore", "pipe", "inherit"] });
  const words: string[] = [];
  const lines = createInterface(child.stdout);
  lines.on("line", (line) => words.push(line));
  const said = async (word: string): Promise<string> => {
    for (;;) {
      const found = words.find((each) => each.startsWith(word));
      if (found) return found;
      await Promise.race([once(lines, "line"), once(lines, "close")]);
    }
  };
  return { child, words, said };
}

const steps = (words: string[]): string[] => words.map((word) => word.replace(/ \d+$/, ""));
const end = async (child: ChildProcess): Promise<number | null> => (await once(child, "close"))[0];

describe("the life of the process", () => {
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
    it(`the process ends in order at ${signal}, and a repeated signal at once counts as one`, async () => {
      const { child, words, said } = start(command("ready"));
      await said("started");
      child.kill(signal);
      child.kill(signal);
      expect(await end(child)).to.equal(0);
      expect(steps(words)).to.deep.equal(["started", "draining", "drained", "lastly"]);
    });
  }

  it("a later second signal cuts the end short, and the last steps are still done", async () => {
    const { child, words, said } = start(command("stuck"));
    await said("started");
    child.kill("SIGTERM");
    await said("draining");
    // Longer than the time within which two signals count as one.
    await sleep(700);
    child.kill("SIGTERM");
    expect(await end(child)).to.equal(1);
    expect(steps(words)).to.deep.equal(["started", "draining", "lastly"]);
  });

  it("the last steps are done also if draining fails", async () => {
    const { child, words, said } = start(command("failing"));
    await said("started");
    child.kill("SIGTERM");
    expect(await end(child)).to.equal(1);
    expect(steps(words)).to.deep.equal(["started", "draining", "lastly"]);
  });

  it("the process stops what a failed start has begun", async () => {
    const { child, words } = start(command("unable"));
    expect(await end(child)).to.equal(3);
    expect(steps(words)).to.deep.equal(["draining", "drained", "lastly"]);
  });

  it("a start or a draining that waits for ever is given up within 5 s", async () => {
    const { child, words, said } = start(command("starting"));
    await said("starting");
    const asked = performance.now();
    child.kill("SIGTERM");
    expect(await end(child)).to.equal(0);
    expect(performance.now() - asked).to.be.below(5_000);
    expect(steps(words)).to.deep.equal(["starting", "draining", "lastly"]);
  });

  it("a process that is to end with its parent does so, also when the parent is killed", async () => {
    const { child, said, words } = start(["sh", "-c", `${command("ready", "withParent").join(" ")}; true`]);
    const pid = Number((await said("started")).split(" ")[1]);
    child.kill("SIGKILL");
    await said("lastly");
    expect(steps(words)).to.include("drained");
    while (isAlive(pid)) await sleep(10);
  });

  it("a process that is not to end with its parent outlives it", async () => {
    const { child, said } = start(["sh", "-c", `${command("ready").join(" ")}; true`]);
    const pid = Number((await said("started")).split(" ")[1]);
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
    // Longer than the child needs to notice its parent's end.
    await sleep(700);
    expect(isAlive(pid)).to.equal(true);
    process.kill(pid, "SIGTERM");
    await said("lastly");
  });
});

describe("the service as a process", () => {
  /** Data directory that the first start creates and the next one uses. */
  let dataDir: string;
  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), "countersign-lifecycle-"));
  });
  after(() => rm(dataDir, { recursive: true, force: true }));

  it("the service takes no mail while its disk is short, and ends in order with its embedded PostgreSQL", async () => {
    const env = { SMTP_IN_MIN_FREE_MB: "1000000000" };
    const service = await startService({ database: "embedded", dataDir, env });
    const sender = await startSender(service.smtpPort);
    await sender.say("EHLO a");
    expect(await sender.say("MAIL FROM:<>")).to.match(/^452/);
    const running = await service.logged(({ msg }) => msg === "embedded PostgreSQL runs");
    expect(isAlive(Number(running.postmaster))).to.equal(true);
    await service.kill("SIGINT");
    expect(service.exitCode(), service.output()).to.equal(0);
    await reaped(Number(running.postmaster));
    await service.stop();
  });

  it("the service starts again on its data after kill -9, with a PostgreSQL that is started again too", async () => {
    const killed = await startService({ database: "embedded", dataDir });
    const left = await killed.logged(({ msg }) => msg === "embedded PostgreSQL runs");
    await killed.kill("SIGKILL");
    const service = await startService({ database: "embedded", dataDir });
    await service.logged(({ msg }) => msg === "a killed service left its PostgreSQL running, stopping it");
    const running = await service.logged(({ msg }) => msg === "embedded PostgreSQL runs");
    expect(running.postmaster).not.to.equal(left.postmaster);
    expect(service.apiKey, "the workspace of the first start is there").to.equal(undefined);
    await reaped(Number(left.postmaster));
    await service.stop();
  });

  it("the service says in one sentence that its port is in use, and leaves nothing running", async () => {
    const taken = createServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    const { port } = taken.address() as { port: number };
    const error = await startService({ database: "embedded", dataDir, env: { PORT: String(port) } }).then(
      () => expect.fail("it started"),
      (reason: Error) => reason,
    );
    const beyondTheLog = error.message.split("\n").filter((line) => line.startsWith('{"msg"'));
    expect(beyondTheLog).to.deep.equal([
      `{"msg":"Port ${port} on 127.0.0.1 is in use by another program: stop that program, or set PORT to another port."}`,
    ]);
    const [, postmaster] = /"postmaster":(\d+)/.exec(error.message) ?? [];
    expect(postmaster).to.match(/^\d+$/);
    await reaped(Number(postmaster));
    taken.close();
  });

  it("the service lists everything that is wrong with its settings", async () => {
    const error = await startService({ env: { PORT: "http", ROLES: "all" } }).then(
      () => expect.fail("it started"),
      (reason: Error) => reason,
    );
    expect(error.message)
      .to.match(/PORT is wrong/)
      .and.to.match(/ROLES is wrong/)
      .and.not.to.match(/ {4}at /);
  });

  it("the service refuses a database of an earlier version in one sentence, and leaves nothing running", async () => {
    const sentence =
      /^\{"msg":"The tables of this database were made by an earlier version .*remove the directory DATA_DIR\."\}$/;
    const refused = async (options: ServiceOptions): Promise<string> => {
      const error: Error = await startService(options).then(
        () => expect.fail("it started"),
        (reason) => reason,
      );
      expect(error.message).to.match(/^the service ended \(1\)/);
      const beyondTheLog = error.message.split("\n").filter((line) => line.startsWith('{"msg"'));
      expect(beyondTheLog).to.have.length(1);
      expect(beyondTheLog[0]).to.match(sentence);
      return error.message;
    };
    const another = "insert into work.migrations (name) values ('0002-of-another-line.sql')";
    const configured = await createTestDatabase();
    await runSql(configured.ownerUrl, another);
    await refused({ database: configured });
    await configured.drop();

    const embedded = await startEmbeddedPostgres({ dataDir, logger: pino({ level: "silent" }) });
    await prepareDatabase(embedded);
    await runSql(embedded.ownerUrl, another);
    await embedded.stop();
    const said = await refused({ database: "embedded", dataDir });
    await reaped(Number(/"postmaster":(\d+)/.exec(said)?.[1]));
  });
});

async function runSql(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(sql).finally(() => client.end());
}

/** Waits until the process is gone: its parent has ended, so it may be reaped a moment later. */
async function reaped(pid: number): Promise<void> {
  for (let waits = 0; waits < 1_200 && isAlive(pid); waits++) await sleep(50);
  expect(isAlive(pid)).to.equal(false);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
