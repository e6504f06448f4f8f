import { writeFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import pg from "pg";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "#src/embeddedPostgres/embeddedPostgres.ts";
import { runUntilStopped } from "#src/lifecycle.ts";
import { createLogger } from "#src/logger.ts";
import { childBundle } from "./support/childProcess.ts";
import { copyCluster, makeCluster } from "./support/cluster.ts";
import { makeRunDirectory } from "./support/runDirectory.ts";
import { bundleTests, type TestCode } from "./support/testBundle.ts";
import { failureReport, type TestFailure } from "./support/testFailure.ts";
import { removeRun } from "./support/testLeftovers.ts";
import { keepDurations, testFiles } from "./support/testOrder.ts";
import { type FileResult, openLane } from "./testLane.ts";

/**
 * `npm test [-- FILE|FOLDER… --grep PATTERN --full]`: all tests, or those; with --full also the slow repetitions with several processes
 * that are listed as pending otherwise. Ends with every failure and the line `N passed, N failed`; exit code 1
 * where anything failed, nothing ran, or it was stopped before all had run.
 *
 * Files wait in one queue, the longest first, for processes that run them side by side, each on a PostgreSQL server of its own (with
 * TEST_DATABASE_ADMIN_URL, a superuser's, on that server instead). What a run starts and writes belongs to its directory, and is gone with it.
 */
const logger = createLogger("warn");
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    grep: { type: "string", short: "g" },
    bail: { type: "boolean", short: "b" },
    full: { type: "boolean" },
  },
});
const queue = testFiles(positionals.length > 0 ? positionals : ["test"]);
const lanes = Math.min(queue.length, Math.max(2, Math.min(4, availableParallelism() + 1)));

/** Of a lane's server. Its data need not survive the machine, only its own crashes: so it waits for no disk. */
const settings = ["fsync = off", "full_page_writes = off", "max_wal_size = '128MB'"];
/**
 * Tests open thousands of connections to it. Who reaches its Unix socket, in a directory of its user's, needs no password, which would cost both
 * sides some 5 ms each time.
 */
const mayConnect = "local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n";

const tally = { passed: 0, failed: 0 };
const failures: TestFailure[] = [];
const durations = new Map<string, number>();
const servers: EmbeddedPostgres[] = [];
const running: ReturnType<typeof openLane>[] = [];
let directory: string | undefined;
/** What the first starts of servers find: those of lanes, and those that tests start. Undefined: each makes its own. */
let cluster: string | undefined;
let allRan = false;

await runUntilStopped({
  logger,
  endWithParent: true,
  async start(end) {
    const run = await makeRunDirectory();
    directory = run;
    const [threads] = await Promise.all([childBundle(), openServers(run)]);
    const code = await bundleTests(queue, { directory: run, threads });
    const args = argumentsOfRun();
    for (let n = 0; n < lanes; n++)
      running.push(
        openLane({ next: () => queue.shift(), onResult: tell, code, args, env: envOf(run, n, { threads, code }) }),
      );
    void Promise.all(running.map((lane) => lane.runAll())).then(() => {
      keepDurations(durations);
      allRan = true;
      if (tally.failed > 0 || tally.passed === 0) process.exitCode = 1;
      end("the tests are done");
    });
  },
  async drain() {
    queue.length = 0;
    // Told to stop: what did not run may fail.
    if (!allRan) process.exitCode = 1;
    for (const lane of running) lane.stop();
  },
  async lastly() {
    await Promise.all(servers.map((server) => server.stop()));
    if (directory) await removeRun(directory);
    if (failures.length > 0) console.log(failureReport(failures));
    console.log(`${tally.passed} passed, ${tally.failed} failed`);
  },
});

function argumentsOfRun(): string[] {
  const given = [...(values.grep ? ["--grep", values.grep] : []), ...(values.bail ? ["--bail"] : [])];
  return process.stdout.isTTY ? [...given, "--color"] : given;
}

function envOf(run: string, lane: number, { threads, code }: { threads: string; code: TestCode }): NodeJS.ProcessEnv {
  return {
    ...process.env,
    TEST_RUN_DIRECTORY: run,
    TEST_DATABASE_ADMIN_URL: process.env.TEST_DATABASE_ADMIN_URL || servers[lane]!.adminUrl,
    TEST_CLUSTER: cluster,
    CHILD_BUNDLE: threads,
    TEST_CODE: code.folder ?? "",
    ...(values.full && { TEST_FULL: "1" }),
  };
}

async function openServers(run: string): Promise<void> {
  const made = join(run, "cluster");
  cluster = process.env.TEST_CLUSTER || ((await makeCluster(made)) ? made : undefined);
  if (process.env.TEST_DATABASE_ADMIN_URL) return;
  await Promise.all(Array.from({ length: lanes }, (_, n) => openServer(run, n)));
}

/** A server of the lane's own. */
async function openServer(run: string, lane: number): Promise<void> {
  const dataDir = join(run, `lane-${lane}`);
  await copyCluster(dataDir, cluster);
  const server = await startEmbeddedPostgres({ dataDir, logger });
  servers[lane] = server;
  const admin = new pg.Client({ connectionString: server.adminUrl });
  await admin.connect();
  for (const setting of settings) await admin.query(`alter system set ${setting}`);
  await writeFile((await admin.query("show hba_file")).rows[0].hba_file, mayConnect);
  await admin.query("select pg_reload_conf()");
  await admin.end();
}

/** A file's output comes at once, when it has ended: lanes do not interleave. */
function tell({ file, passed, failures: failed, ms, output }: FileResult): void {
  process.stdout.write(output);
  tally.passed += passed;
  tally.failed += failed.length;
  failures.push(...failed);
  if (!values.grep && !values.full) durations.set(file, ms);
  if (values.bail && failed.length > 0) queue.length = 0;
}
