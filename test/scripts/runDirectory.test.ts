import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { until } from "#test/support/inProcess.ts";
import { runPrefix } from "../../scripts/support/removeRun.ts";

const module = new URL("../../scripts/support/runDirectory.ts", import.meta.url).href;
/** A program that makes the directory of its run, sends its path, and keeps running. */
const program = `import { makeRunDirectory } from ${JSON.stringify(module)}; process.send(await makeRunDirectory()); setInterval(() => {}, 60_000);`;

describe("the directory of a run", () => {
  let folder: string;
  const children: ChildProcess[] = [];
  before(async function () {
    if (process.platform !== "linux") return this.skip();
    folder = await mkdtemp(join(tmpdir(), "countersign-runs-"));
  });
  after(async () => {
    for (const child of children) child.kill("SIGKILL");
    if (folder) await rm(folder, { recursive: true, force: true });
  });

  /** Starts a separate run in `folder`. Returns its process and its directory. */
  async function start(): Promise<{ child: ChildProcess; directory: string }> {
    const child = spawn(
      process.execPath,
      ["--import", import.meta.resolve("tsx"), "--input-type=module", "-e", program],
      {
        env: { ...process.env, TMPDIR: folder },
        stdio: ["ignore", "inherit", "inherit", "ipc"],
      },
    );
    children.push(child);
    const [directory] = await once(child, "message");
    return { child, directory };
  }

  it("a run's directory is removed when its process is killed, with what that left running", async () => {
    const { child, directory } = await start();
    const orphan = spawn("sleep", ["600"], { env: { ...process.env, RUN: directory } });
    const ended = once(orphan, "exit");
    child.kill("SIGKILL");
    await ended;
    await until(async () => !existsSync(directory));
  });

  it("the next run removes the directory of a run that was killed together with its cleaner", async () => {
    const directory = await left("killed");
    const orphan = spawn("sleep", ["600"], { env: { ...process.env, RUN: directory } });
    const ended = once(orphan, "exit");
    await start();
    await ended;
    expect(existsSync(directory)).to.equal(false);
  });

  it("a run's directory stays while its process lives, and unclaimed and foreign ones stay", async () => {
    const { directory } = await start();
    const others = [join(folder, `${runPrefix}unclaimed`), join(folder, "other")];
    for (const other of others) await mkdir(other);
    await start();
    expect([directory, ...others].filter(existsSync)).to.deep.equal([directory, ...others]);
  });

  /** Makes the directory of a killed run: with a socket on which no process listens. */
  async function left(name: string): Promise<string> {
    const directory = join(folder, `${runPrefix}${name}`);
    await mkdir(directory);
    const socket = join(directory, "alive");
    const script = `require("node:net").createServer().listen("${socket}", () => process.kill(process.pid, "SIGKILL"))`;
    await once(spawn(process.execPath, ["-e", script]), "exit");
    expect(existsSync(socket)).to.equal(true);
    return directory;
  }
});
