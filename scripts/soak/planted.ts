import { spawn } from "node:child_process";
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { projectRoot } from "../support/bundle.mjs";
import { childBundle } from "../support/childProcess.ts";
import { type PlantedBug, withBug } from "./planted/bug.ts";
import { bugsInSending } from "./planted/inSending.ts";
import { bugsInWorkTable } from "./planted/inWorkTable.ts";
import { allOf, inParallel, type Proof } from "./proof.ts";

/** The cheapest to look for first: a sample is the beginning of the list. */
export const plantedBugs: readonly PlantedBug[] = [...bugsInSending, ...bugsInWorkTable];

/** Copies of the project that bugs are planted in, side by side. */
const copies = 2;
const copied = ["streams", "projections", "src", "scripts", "test", "package.json", "tsconfig.json"];
/** One whose tests hang is not found: nobody waits that long for the suite. In milliseconds. */
const longestMs = 900_000;

/**
 * Each bug is planted in a copy of the project, and its tests have to fail there; without it they pass. A sample leaves the latter to the suite
 * that it is part of.
 */
export const planted: Proof = {
  name: "planted",
  title: "bugs planted on purpose are found by the tests of what they break",
  unit: "bugs",
  full: plantedBugs.length,
  checked: 1,
  sample: 1,
  async run(size, report) {
    const bugs = plantedBugs.slice(0, size);
    const folders = await Promise.all(Array.from({ length: Math.min(copies, bugs.length) }, copyOfProject));
    const free = [...folders];
    const inCopy = async <T>(work: (folder: string) => Promise<T>): Promise<T> => {
      const folder = free.pop() as string;
      return work(folder).finally(() => free.push(folder));
    };
    let found = 0;
    let done = 0;
    try {
      const tests = [...new Map(bugs.map(({ foundBy }) => [JSON.stringify(foundBy), foundBy])).values()];
      await inParallel(bugs.length > 1 ? tests : [], folders.length, async (test) => {
        const ended = await inCopy((folder) => run(folder, test));
        if (ended.passed === 0 || ended.failed > 0)
          report.violation(`${test.file}, ${test.titles}: without a bug ${told(ended)}`);
      });
      await inParallel(bugs, folders.length, async (bug) => {
        const ended = await inCopy((folder) => runWith(folder, bug));
        if (ended.failed > 0) found += 1;
        else
          report.violation(`${bug.breaks}: a bug in ${bug.file} was not found by ${bug.foundBy.file}: ${told(ended)}`);
        report.progress(++done, bugs.length, bug.breaks);
      });
    } finally {
      await Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true })));
    }
    allOf(report, "found", { good: found, of: bugs.length });
  },
};

async function copyOfProject(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "countersign-planted-"));
  await Promise.all(copied.map((name) => cp(join(projectRoot, name), join(folder, name), { recursive: true })));
  await symlink(join(projectRoot, "node_modules"), join(folder, "node_modules"));
  return folder;
}

type Ended = { passed: number; failed: number; output: string };
const told = ({ passed, failed, output }: Ended): string =>
  `${passed} passed, ${failed} failed\n${output.slice(-1_000)}`;

async function runWith(folder: string, bug: PlantedBug): Promise<Ended> {
  const path = join(folder, bug.file);
  const source = await readFile(path, "utf8");
  await writeFile(path, withBug(source, bug));
  return run(folder, bug.foundBy).finally(() => writeFile(path, source));
}

/** Runs the tests as anybody would. Those of a file that does not even compile have not failed. */
async function run(folder: string, { file, titles }: PlantedBug["foundBy"]): Promise<Ended> {
  const pattern = titles.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  // Children are none of it: what starts them takes the project's own.
  const { TEST_RUN_DIRECTORY, TEST_CODE, TEST_FULL, ...env } = process.env;
  const child = spawn(process.execPath, ["--import", "tsx", "scripts/test.ts", file, "--grep", pattern], {
    ...{ cwd: folder, env: { ...env, CHILD_BUNDLE: await childBundle() } },
    ...{ stdio: ["ignore", "pipe", "pipe"], timeout: longestMs },
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (data) => {
      output += data;
    });
  }
  await new Promise((resolve) => child.once("close", resolve));
  const [, passed = 0, failed = 0] = /(\d+) passed, (\d+) failed\s*$/.exec(output) ?? [];
  const compiles = !/Transform failed|Build failed|SyntaxError/.test(output);
  return { passed: Number(passed), failed: compiles ? Number(failed) : 0, output };
}
