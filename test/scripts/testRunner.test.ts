import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { inFull, itInFull } from "#test/support/full.ts";
import { until } from "#test/support/inProcess.ts";
import { projectRoot } from "../../scripts/support/bundle.mjs";

const files: Record<string, string> = {
  "passing.test.ts": `describe("passing", () => { it("one", () => {}); it("two", () => {}); });`,
  "failing.test.ts": `import { expect } from "chai";
    describe("outer", () => { describe("inner", () => { it("differs", () => expect({ a: 1 }).to.deep.equal({ a: 2 })); }); });`,
  "hook.test.ts": `describe("hooked", () => { before(() => { throw new TypeError("no hook"); }); it("never runs", () => {}); });`,
  "crashing.test.ts": `describe("crashing", () => { it("fine", () => {}); it("kills", () => process.kill(process.pid, "SIGKILL")); });`,
  "broken.test.ts": `import "./nowhere.ts";`,
  "hanging.test.ts": `import { spawn } from "node:child_process";
    import { mkdtempSync, renameSync, writeFileSync } from "node:fs";
    import { tmpdir } from "node:os";
    import { startEmbeddedPostgres } from "#src/embeddedPostgres/embeddedPostgres.ts";
    import { copyCluster } from "./scripts/support/cluster.ts";
    it("hangs", async () => {
      const dataDir = mkdtempSync(tmpdir() + "/left-");
      await copyCluster(dataDir);
      const { pid } = await startEmbeddedPostgres({ dataDir, logger: { info() {}, warn() {}, error() {} } as any });
      const child = spawn("sleep", ["600"], { detached: true });
      const started = { pids: [process.pid, pid(), child.pid], directory: process.env.TEST_RUN_DIRECTORY };
      writeFileSync(process.env.STARTED + ".new", JSON.stringify(started));
      renameSync(process.env.STARTED + ".new", process.env.STARTED!);
      await new Promise(() => {});
    });`,
};

/** The runner itself, on files of our own, beside the run that this is a part of. */
describe("npm test", () => {
  let folder: string;
  const children: ChildProcess[] = [];
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "countersign-runner-"));
    for (const name of ["node_modules", "scripts", "src"]) await symlink(join(projectRoot, name), join(folder, name));
    await writeFile(join(folder, "package.json"), `{ "type": "module", "imports": { "#src/*": "./src/*" } }`);
    for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  });
  after(async () => {
    for (const child of children) child.kill("SIGKILL");
    await rm(folder, { recursive: true, force: true });
  });

  function start(names: string[], { env = {}, args = [] }: { env?: NodeJS.ProcessEnv; args?: string[] } = {}) {
    const child = spawn(
      process.execPath,
      ["--import", "tsx", "scripts/test.ts", ...names.map((name) => join(folder, `${name}.test.ts`)), ...args],
      { cwd: projectRoot, env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] },
    );
    children.push(child);
    let said = "";
    for (const stream of [child.stdout!, child.stderr!])
      stream.on("data", (data) => {
        said += data;
      });
    return { child, said: () => said, ended: once(child, "close").then(([code]) => code as number) };
  }

  it("counts every file, also beside one that takes its process along, and tells each failure at the end", async () => {
    const run = start(["passing", "failing", "hook", "crashing"]);
    expect(await run.ended).to.equal(1);
    const lines = run.said().trimEnd().split("\n");
    expect(lines.at(-1)).to.equal("3 passed, 3 failed");
    const summary = run.said().slice(run.said().lastIndexOf("\n1) "));
    expect(summary).to.match(
      /\d\) outer › inner › differs\n +\S*failing\.test\.ts\n[\s\S]*- {2}"a": 1\n[\s\S]*\+ {2}"a": 2[\s\S]*failing\.test\.ts:2:/,
    );
    expect(summary).to.match(
      /\d\) hooked › "before all" hook for "never runs"\n +\S*hook\.test\.ts\n +TypeError: no hook/,
    );
    expect(summary).to.match(/\d\) the file broke off\n +\S*crashing\.test\.ts\n +its process ended \(SIGKILL\)/);
  });

  it("counts a file that cannot be loaded, and runs those beside it", async () => {
    const run = start(["passing", "broken"]);
    expect(await run.ended).to.equal(1);
    expect(run.said()).to.match(/2 passed, 1 failed\n$/);
    expect(run.said()).to.match(/1\) the file cannot be loaded\n +\S*broken\.test\.ts\n[\s\S]*nowhere\.ts/);
  });

  it("ends well where nothing fails, and not where nothing runs", async () => {
    const outcome = async ({ ended, said }: ReturnType<typeof start>) => [
      await ended,
      said().trimEnd().split("\n").at(-1),
    ];
    expect(await outcome(start(["crashing"], { args: ["--grep", "fine"] }))).to.deep.equal([0, "1 passed, 0 failed"]);
    if (!inFull) return;
    expect(await outcome(start(["passing"], { args: ["--grep", "nowhere"] }))).to.deep.equal([1, "0 passed, 0 failed"]);
  });

  for (const end of ["SIGTERM", "SIGKILL"] as const) {
    // SIGKILL is the harder end: the runner itself can tidy nothing up.
    (end === "SIGKILL" ? it : itInFull)(
      `leaves no process, no server and no file behind when it is ended by ${end}`,
      async () => {
        // Without the server of the run that this is a part of, it starts one of its own.
        const file = join(folder, `started.${end}`);
        const names = inFull ? ["passing", "hanging"] : ["hanging"];
        const run = start(names, { env: { TEST_DATABASE_ADMIN_URL: "", STARTED: file } });
        const others = inFull ? "2 passing" : "";
        await until(async () => (existsSync(file) && run.said().includes(others)) || run.child.exitCode !== null);
        const { pids, directory } = JSON.parse(await readFile(file, "utf8"));
        run.child.kill(end);
        expect(await run.ended, "it did not end well").to.not.equal(0);
        await until(async () => !existsSync(directory) && (await running(pids)).length === 0);
        expect(await processesNaming(directory)).to.deep.equal([]);
      },
    );
  }
});

const running = async (pids: number[]): Promise<string[]> => {
  const states = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/stat`, "utf8").catch(() => "")));
  return states.filter((state) => state !== "" && !/\) Z /.test(state));
};

async function processesNaming(directory: string): Promise<string[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const commands = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")));
  return commands.filter((command) => command.includes(directory));
}
