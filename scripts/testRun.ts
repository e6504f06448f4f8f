import { readdirSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import Mocha from "mocha";
import { type TestFailure, testFailure } from "./support/testFailure.ts";

/** What this process tells its parent: one message for each test or hook that ended. */
export type TestOutcome = { outcome: "passed" } | { outcome: "failed"; failure: TestFailure };

/** Runs the tests in a process of their own and tells its parent of each, so that a crash in one cannot take the count or the server along. */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { grep: { type: "string", short: "g" }, bail: { type: "boolean", short: "b" } },
});
const timeoutMs = 30_000;
const mocha = new Mocha({
  timeout: timeoutMs,
  forbidOnly: true,
  bail: values.bail,
  ...(values.grep && { grep: values.grep }),
});

for (const file of (positionals.length > 0 ? positionals : ["test"]).flatMap(testsIn).sort())
  mocha.addFile(resolve(file));
await mocha.loadFilesAsync();
mocha
  .run((failures) => {
    // Not before the parent has been told everything.
    process.disconnect?.();
    process.exit(failures > 0 ? 1 : 0);
  })
  .on("pass", () => tell({ outcome: "passed" }))
  .on("fail", (test, error) => tell({ outcome: "failed", failure: testFailure(test, error) }));

function tell(outcome: TestOutcome): void {
  process.send?.(outcome);
}

function testsIn(path: string): string[] {
  if (!statSync(path).isDirectory()) return [path];
  const names = readdirSync(path, { recursive: true, encoding: "utf8" });
  return names.filter((name) => name.endsWith(".test.ts")).map((name) => join(path, name));
}
