import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "#src/embeddedPostgres/embeddedPostgres.ts";
import { runUntilStopped } from "#src/lifecycle.ts";
import { createLogger } from "#src/logger.ts";

/**
 * `npm test [-- FILE|FOLDER… --grep PATTERN]`: all tests against PostgreSQL servers of their own, which are gone afterwards. Ends with the
 * line `N passed, N failed`; exit code 1 where anything failed or nothing ran. With TEST_DATABASE_ADMIN_URL (a superuser's) on that server
 * instead. The whole suite runs in two lanes side by side, each on a server of its own: most of it waits, for processes to start and end.
 */
const logger = createLogger("warn");
const tally = { passed: 0, failed: 0 };
/** What starts, kills and waits for processes most. */
const longLane = ["soak", "processes", "outages.test.ts"];
const given = process.argv.slice(2);
const lanes =
  given.length > 0 ? [given] : [laneOf((name) => !longLane.includes(name)), laneOf((name) => longLane.includes(name))];

type Server = { directory: string; postgres: EmbeddedPostgres };
const servers: Server[] = [];
const children: ChildProcess[] = [];

await runUntilStopped({
  logger,
  endWithParent: true,
  async start(end) {
    for (const lane of lanes)
      children.push(runTests(process.env.TEST_DATABASE_ADMIN_URL ?? (await startServer()), lane));
    const ended = children.map(async (child) => {
      const [code] = await once(child, "close");
      // A run that broke off has failed, whatever it had counted until then.
      if (code !== 0 && tally.failed === 0) tally.failed = 1;
    });
    void Promise.all(ended).then(() => {
      if (tally.failed > 0 || tally.passed === 0) process.exitCode = 1;
      end("the tests are done");
    });
  },
  async drain() {
    for (const child of children) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.kill("SIGTERM");
      await once(child, "exit");
    }
  },
  drainMs: 5_000,
  async lastly() {
    for (const child of children) child.kill("SIGKILL");
    for (const { directory, postgres } of servers) {
      await postgres.stop();
      for (const path of [directory, postgres.directory]) if (path) await rm(path, { recursive: true, force: true });
    }
    console.log(`${tally.passed} passed, ${tally.failed} failed`);
  },
});

function laneOf(wanted: (name: string) => boolean): string[] {
  return readdirSync("test")
    .filter((name) => wanted(name) && (!name.includes(".") || name.endsWith(".test.ts")))
    .map((name) => `test/${name}`);
}

async function startServer(): Promise<string> {
  const directory = await mkdtemp(`${tmpdir()}/countersign-test-`);
  const postgres = await startEmbeddedPostgres({ dataDir: directory, logger });
  servers.push({ directory, postgres });
  return postgres.adminUrl;
}

/** The first lane is told as it runs; what others say waits until it has ended. */
function runTests(adminUrl: string, lane: readonly string[]): ChildProcess {
  const first = children[0];
  const child = fork(fileURLToPath(new URL("./testRun.ts", import.meta.url)), lane, {
    env: { ...process.env, TEST_DATABASE_ADMIN_URL: adminUrl },
    stdio: ["ignore", first ? "pipe" : "inherit", "inherit", "ipc"],
  });
  let held: string[] | undefined = [];
  child.stdout?.on("data", (text) => {
    if (held) held.push(text);
    else process.stdout.write(text);
  });
  first?.once("close", () => {
    process.stdout.write((held ?? []).join(""));
    held = undefined;
  });
  return child.on("message", (outcome: keyof typeof tally) => {
    tally[outcome] += 1;
  });
}
