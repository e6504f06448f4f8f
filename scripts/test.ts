import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import { runUntilStopped } from "#src/lifecycle.ts";
import { createLogger } from "#src/logger.ts";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "#src/postgres/embedded.ts";

/**
 * `npm test [-- FILE|FOLDER… --grep PATTERN]`: all tests against a PostgreSQL of their own, which is gone afterwards. Ends with the line
 * `N passed, N failed`; exit code 1 where anything failed or nothing ran. With TEST_DATABASE_ADMIN_URL (a superuser's) on that server instead.
 */
const logger = createLogger("warn");
const tally = { passed: 0, failed: 0 };
let directory: string | undefined;
let postgres: EmbeddedPostgres | undefined;
let tests: ChildProcess | undefined;

await runUntilStopped({
  logger,
  endWithParent: true,
  async start(end) {
    tests = runTests(process.env.TEST_DATABASE_ADMIN_URL ?? (await startServer()));
    tests.once("exit", (code) => {
      // A run that broke off has failed, whatever it had counted until then.
      if (code !== 0 && tally.failed === 0) tally.failed = 1;
      if (tally.failed > 0 || tally.passed === 0) process.exitCode = 1;
      end("the tests are done");
    });
  },
  async drain() {
    if (!tests || tests.exitCode !== null || tests.signalCode !== null) return;
    tests.kill("SIGTERM");
    await once(tests, "exit");
  },
  drainMs: 5_000,
  async lastly() {
    tests?.kill("SIGKILL");
    await postgres?.stop();
    for (const path of [directory, postgres?.directory]) if (path) await rm(path, { recursive: true, force: true });
    console.log(`${tally.passed} passed, ${tally.failed} failed`);
  },
});

async function startServer(): Promise<string> {
  directory = await mkdtemp(`${tmpdir()}/countersign-test-`);
  postgres = await startEmbeddedPostgres({ dataDir: directory, logger });
  return postgres.adminUrl;
}

function runTests(adminUrl: string): ChildProcess {
  const child = fork(fileURLToPath(new URL("./testRun.ts", import.meta.url)), process.argv.slice(2), {
    env: { ...process.env, TEST_DATABASE_ADMIN_URL: adminUrl },
  });
  return child.on("message", (outcome: keyof typeof tally) => {
    tally[outcome] += 1;
  });
}
