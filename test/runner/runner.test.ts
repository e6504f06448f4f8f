import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { itInFull } from "#test/support/full.ts";
import { until } from "#test/support/inProcess.ts";
import { projectRoot } from "../../scripts/support/childProcess.ts";

const killed = `describe("killed", () => { it("fine", () => {}); it("kills", () => process.kill(process.pid, "SIGKILL")); });`;
const files: Record<string, string> = {
  passing: `describe("passing", () => { it("one", () => {}); it("two", () => {}); });`,
  failing: `import { expect } from "chai";
    describe("outer", () => { describe("inner", () => { it("differs", () => expect({ a: 1 }).to.deep.equal({ a: 2 })); }); });`,
  hook: `describe("hooked", () => { before(() => { throw new TypeError("no hook"); }); it("never runs", () => {}); });`,
  killed,
  killedToo: killed,
  killedAsWell: killed,
  ended: `it("ends", () => process.exit(0));`,
  late: `it("throws when it has ended", () => { setTimeout(() => { throw new Error("too late"); }, 100); });`,
  only: `it.only("alone", () => {});`,
  unfound: `import "./nowhere.ts";`,
  throwing: `const text: string = "as it is loaded"; throw new Error(text);`,
  hanging: `import { spawn } from "node:child_process";
    import { mkdtempSync, renameSync, writeFileSync } from "node:fs";
    import { tmpdir } from "node:os";
    import { startEmbeddedPostgres } from "#src/platform/embeddedPostgres/embeddedPostgres.ts";
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

/** Runs Mocha with this project's settings on files of our own, inside the run that this test is a part of. */
describe("a run of the tests", () => {
  let folder: string;
  const children: ChildProcess[] = [];
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "countersign-runner-"));
    for (const name of ["node_modules", "scripts", "src"]) await symlink(join(projectRoot, name), join(folder, name));
    await writeFile(join(folder, "package.json"), `{ "type": "module", "imports": { "#src/*": "./src/*" } }`);
    for (const [name, text] of Object.entries(files)) await writeFile(join(folder, `${name}.test.ts`), text);
  });
  after(async () => {
    for (const child of children) child.kill("SIGKILL");
    await rm(folder, { recursive: true, force: true });
  });

  function start(names: string[], { env = {}, args = [] }: { env?: NodeJS.ProcessEnv; args?: string[] } = {}) {
    const child = spawn(
      process.execPath,
      ["node_modules/mocha/bin/mocha.js", ...names.map((name) => join(folder, `${name}.test.ts`)), ...args],
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

  /** Returns the exit code, the last line, and all failures as one text. */
  async function outcome({ ended, said }: ReturnType<typeof start>) {
    const code = await ended;
    const [, failures = ""] = /^ {2}\d+ failing$(.*)/ms.exec(said()) ?? [];
    return { code, last: said().trimEnd().split("\n").at(-1), failures };
  }

  it("a test run reports each failure at the end, with its file", async () => {
    const { code, last, failures } = await outcome(start(["passing", "failing", "hook"]));
    expect([code, last]).to.deep.equal([1, "2 passed, 2 failed"]);
    expect(failures).to.match(
      /\d\) \S*failing\.test\.ts\n +outer\n +inner\n +differs:\n[\s\S]*- {2}"a": 1\n[\s\S]*\+ {2}"a": 2[\s\S]*failing\.test\.ts:2:/,
    );
    expect(failures).to.match(/\d\) \S*hook\.test\.ts\n +hooked\n +"before all" hook[^\n]*:\n +TypeError: no hook/);
  });

  it("a test run counts one failure for each file that dies or cannot be loaded, and runs all others", async () => {
    const dying = ["killed", "killedToo", "killedAsWell", "ended"];
    const { code, last, failures } = await outcome(start([...dying, "unfound", "throwing", "only", "passing"]));
    expect([code, last]).to.deep.equal([1, "2 passed, 7 failed"]);
    expect(failures.match(/killed\w*\.test\.ts\n[^\n]*\n[^\n]*Worker terminated[^)]*SIGKILL/g)).to.have.lengthOf(3);
    expect(failures).to.match(/ended\.test\.ts\n[^\n]*\n[^\n]*Worker terminated[^)]*exitCode: `0`/);
    expect(failures).to.match(/unfound\.test\.ts\n[^\n]*\n[^\n]*Cannot find module \S*nowhere\.ts/);
    expect(failures).to.match(/throwing\.test\.ts\n[^\n]*\n[^\n]*as it is loaded\n[\s\S]*throwing\.test\.ts:1:/);
    expect(failures).to.match(/only\.test\.ts\n[^\n]*\n[^\n]*`\.only` is not supported/);
  });

  it("a test run ends if a process dies after the last test", async () => {
    expect(await outcome(start(["late", "passing"]))).to.include({ code: 0, last: "3 passed, 0 failed" });
  });

  it("a test run succeeds if nothing fails, and fails if nothing runs", async () => {
    expect(await outcome(start(["killed"], { args: ["--grep", "fine"] }))).to.include({
      code: 0,
      last: "1 passed, 0 failed",
    });
    expect(await outcome(start(["passing"], { args: ["--grep", "nowhere"] }))).to.include({
      code: 1,
      last: "0 passed, 0 failed",
    });
  });

  for (const end of ["SIGTERM", "SIGKILL"] as const) {
    // SIGKILL is the harder end: the run itself cannot clean up.
    (end === "SIGKILL" ? it : itInFull)(
      `leaves no process, no server and no file behind when ${end} ends it`,
      async () => {
        // Without the server of the enclosing run, it starts a separate one.
        const file = join(folder, `started.${end}`);
        const run = start(["passing", "hanging"], { env: { TEST_DATABASE_ADMIN_URL: "", STARTED: file } });
        await until(async () => existsSync(file) || run.child.exitCode !== null);
        const { pids, directory } = JSON.parse(await readFile(file, "utf8"));
        run.child.kill(end);
        expect(await run.ended, "it did not end well").to.not.equal(0);
        await until(async () => !existsSync(directory) && (await running(pids)).length === 0);
        await until(async () => (await processesNaming(directory)).length === 0);
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
