import "#test/support/fewKeyPairs.ts";
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import Mocha from "mocha";
import { nameSources } from "./support/sourceMaps.mjs";
import { atEnd } from "./support/testEnd.ts";
import { testFailure } from "./support/testFailure.ts";
import { type Asked, endOfFile, type Told } from "./support/testMessages.ts";

/**
 * Runs files of tests, one after the other as it is told, in one process: what they import is loaded once. What they leave in the temporary
 * directory lies in a folder of the run.
 */
const { values } = parseArgs({
  options: {
    grep: { type: "string", short: "g" },
    bail: { type: "boolean", short: "b" },
    color: { type: "boolean" },
  },
});
/**
 * No test asserts its speed by this: what never ends is to be found, no more. A test that starts a service takes 5 to 10 s of CPU, and a machine
 * with forty others at work gives it one second in twenty.
 */
const timeoutMs = 300_000;
const { TEST_RUN_DIRECTORY: directory = "" } = process.env;
// Only now: what reads TypeScript keeps its cache where it was.
process.env.TMPDIR = directory;
// What reads TypeScript sees to this itself.
if (process.env.TEST_CODE) nameSources();

const { timeout } = Mocha.Runnable.prototype as unknown as { timeout(ms?: number | string): unknown };
/** What tests ask for themselves raises the limit and never lowers it. */
Mocha.Runnable.prototype.timeout = function (this: Mocha.Runnable, ms?: number | string): any {
  return timeout.apply(
    this,
    typeof ms === "number" && ms > 0 ? [Math.max(ms, timeoutMs)] : ms === undefined ? [] : [ms],
  );
};

process.on("message", (asked: Asked) => {
  if ("end" in asked) void end();
  else void run(asked);
});
// The one that started this is gone, and cannot tidy up any more.
process.on("disconnect", () => void leaveTidying());

async function run({ file, from }: { file: string; from: string }): Promise<void> {
  const mocha = new Mocha({
    timeout: timeoutMs,
    forbidOnly: true,
    bail: values.bail,
    color: values.color ?? false,
    ...(values.grep && { grep: values.grep }),
  });
  mocha.addFile(from);
  try {
    await mocha.loadFilesAsync();
  } catch (error) {
    const text = error instanceof Error ? error.stack : String(error);
    console.log(text);
    tell({ outcome: "failed", failure: { title: "the file cannot be loaded", file, error: `${text}` } });
    return ended(file);
  }
  mocha
    .run(() => {
      // It listens to this process otherwise, one listener more for each file.
      mocha.dispose();
      ended(file);
    })
    .on("pass", () => tell({ outcome: "passed" }))
    .on("fail", (test, error) => tell({ outcome: "failed", failure: testFailure(test, error, file) }));
}

function ended(file: string): void {
  process.stdout.write(endOfFile, () => tell({ ended: file }));
}

async function end(): Promise<void> {
  for (const tidy of atEnd) await tidy();
  process.removeAllListeners("disconnect");
  process.disconnect();
  process.exit(0);
}

/** Not here: what a test left in this process would go on, and start again what is stopped. */
async function leaveTidying(): Promise<void> {
  const script = fileURLToPath(new URL("./support/removeRun.ts", import.meta.url));
  const tidying = spawn(process.execPath, ["--import", import.meta.resolve("tsx"), script], {
    env: { PATH: process.env.PATH },
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  tidying.stdin.end(directory, () => process.kill(process.pid, "SIGKILL"));
}

function tell(told: Told): void {
  process.send?.(told);
}
