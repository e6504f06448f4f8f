import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { claimRun, sweepRuns } from "../../scripts/support/runOwner.ts";
import { runPrefix } from "../../scripts/support/testLeftovers.ts";

describe("what a run of the tests has left, at the start of the next one", () => {
  let folder: string;
  before(async function () {
    if (process.platform !== "linux") return this.skip();
    folder = await mkdtemp(join(tmpdir(), "countersign-runs-"));
  });
  after(() => folder && rm(folder, { recursive: true, force: true }));

  /** One whose owner is as it is noted by this process, but for `change`. */
  async function run(name: string, change: object = {}): Promise<string> {
    const directory = join(folder, `${runPrefix}${name}`);
    await mkdir(join(directory, "pgdata"), { recursive: true });
    await claimRun(directory);
    const file = join(directory, "runner");
    await writeFile(file, JSON.stringify({ ...JSON.parse(await readFile(file, "utf8")), ...change }));
    return directory;
  }

  it("goes where its process is gone, with what it left running, also where another has the process's id by now", async () => {
    const gone = spawn("true");
    await once(gone, "exit");
    const directories = [await run("reused", { since: "1" }), await run("gone", { pid: gone.pid })];
    const orphan = spawn("sleep", ["600"], { env: { ...process.env, TEST_RUN_DIRECTORY: directories[0] } });
    const ended = once(orphan, "exit");
    await sweepRuns(folder);
    await ended;
    expect(directories.filter(existsSync)).to.deep.equal([]);
  });

  it("stays where it runs, is of another machine, is nobody's, or is no run", async () => {
    const directories = [await run("running"), await run("elsewhere", { machine: "another", since: "1" })];
    directories.push(await run("unclaimed"), await run("damaged"), join(folder, "other"));
    await rm(join(directories[2]!, "runner"));
    await writeFile(join(directories[3]!, "runner"), "");
    await mkdir(directories[4]!);
    await writeFile(join(directories[4]!, "runner"), await readFile(join(directories[1]!, "runner")));
    await sweepRuns(folder);
    expect(directories.filter(existsSync)).to.deep.equal(directories);
  });
});
