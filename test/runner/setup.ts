import "#test/support/fewKeyPairs.ts";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { createLogger } from "#src/platform/logger.ts";
import { runUntilStopped } from "#src/start/lifecycle.ts";
import { removeRun } from "../../scripts/support/removeRun.ts";
import { makeRunDirectory } from "../../scripts/support/runDirectory.ts";
import { replaceDeadWorkers } from "./deadWorkers.ts";
import { openServer } from "./server.ts";

/**
 * Mocha loads this module in its own process, which reports, and in each process that runs files of tests (.mocharc.json). All that a run starts and
 * writes belongs to its directory, TEST_RUN_DIRECTORY, and goes with it.
 */
if (process.argv.includes("--full")) process.env.TEST_FULL = "1";
// Set after tsx has been loaded, so that its cache outlives the run.
if (process.env.TEST_RUN_DIRECTORY) process.env.TMPDIR = process.env.TEST_RUN_DIRECTORY;

/**
 * Mocha loads a file of tests by `require`, then by `import`, and if both fail it shows the error of `require`: that the file is TypeScript. This
 * replaces the error by that of `import`.
 */
createRequire(import.meta.url).extensions[".ts"] = (_module, file) => {
  const shown = new Error(`${file} is an ES module`);
  import(pathToFileURL(file).href).catch((error) =>
    Object.assign(shown, error, { message: error.message, stack: error.stack }),
  );
  throw shown;
};

let directory: string | undefined;
let closeServer: (() => Promise<void>) | undefined;

export const mochaGlobalSetup = (): Promise<void> =>
  runUntilStopped({
    logger: createLogger("warn"),
    endWithParent: true,
    start: open,
    async drain() {
      // A run that is stopped has not passed.
      process.exitCode = 1;
    },
    lastly: close,
  });

export const mochaGlobalTeardown = close;

async function open(): Promise<void> {
  replaceDeadWorkers();
  directory = await makeRunDirectory();
  process.env.TEST_RUN_DIRECTORY = directory;
  closeServer = await openServer(directory);
}

async function close(): Promise<void> {
  await closeServer?.();
  if (directory) await removeRun(directory);
}
