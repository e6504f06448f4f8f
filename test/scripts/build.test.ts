import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { cp, mkdir, mkdtemp, readdir, rm, symlink, utimes, writeFile } from "node:fs/promises";
import module from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { built } from "../../scripts/support/build.mjs";
import { projectRoot } from "../../scripts/support/childProcess.ts";

const run = promisify(execFile);

/** A small project with every kind of file that the service consists of. */
const project: Record<string, string> = {
  "package.json": `{ "type": "module", "imports": { "#src/*": "./src/*" } }`,
  "scripts/commands.ts": `
export const commands: Record<string, () => Promise<unknown>> = {
  start: async () => (await import("#src/program.ts")).start(process.argv[2]),
  build: () => import("#src/program.ts"),
};`,
  "src/program.ts": `
import { readFileSync } from "node:fs";
import { letters } from "letters";
import { ask } from "#src/platform/threadPool/ask.ts";
import { word } from "#src/word.ts";
const sql: string = readFileSync(new URL(import.meta.resolve("#src/tables.sql")), "utf8");
export async function start(wish?: string): Promise<void> {
  if (wish === "fail") throw new Error("as asked");
  console.log(word, sql, letters, await ask());
  if (wish === "stay") setInterval(() => {}, 1_000);
}`,
  "src/tables.sql": "select 1",
  "src/word.ts": `export const word: string = "first";`,
  "src/platform/threadPool/ask.ts": `
import { once } from "node:events";
import { Worker } from "node:worker_threads";
const entry = new URL("./threadWorker.mjs", import.meta.url);
export const ask = async (): Promise<string> => (await once(new Worker(entry, { execArgv: [] }), "message"))[0];`,
  "src/platform/threadPool/threadWorker.mjs": `import { register } from "tsx/esm/api";\nregister();\nawait import("./thread.ts");`,
  "src/platform/threadPool/thread.ts": `
import { parentPort } from "node:worker_threads";
import { word } from "#src/word.ts";
parentPort?.postMessage(\`thread knows \${word}\`);`,
  "src/http/framework/body/parserThread.ts": "export {};",
  "projections/tables.ts": "export {};",
  "streams/decider.ts": "export {};",
  "node_modules/letters/package.json": `{ "name": "letters", "main": "index.js" }`,
  "node_modules/letters/index.js": `exports.letters = require("node:path").basename("/ä/✓");`,
};
const words = "first select 1 ✓ thread knows first";

describe("the build from which the service and its commands start", () => {
  let root: string;
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), "countersign-build-"));
    for (const [file, text] of Object.entries(project)) await write(file, text);
    for (const file of ["run.mjs", "support/build.mjs", "support/heapFlags.mjs"])
      await cp(join(projectRoot, "scripts", file), join(root, "scripts", file));
    for (const name of ["esbuild", "tsx"])
      await symlink(join(projectRoot, "node_modules", name), join(root, "node_modules", name));
  });
  afterEach(() => rm(root, { recursive: true, force: true }));

  async function write(file: string, text: string): Promise<void> {
    await mkdir(join(root, file, ".."), { recursive: true });
    await writeFile(join(root, file), text);
  }
  const start = (...args: string[]) => run(process.execPath, [join(root, "scripts/run.mjs"), "start", ...args]);
  const said = async (): Promise<string> => (await start()).stdout.trim();
  const folders = async (): Promise<string[]> =>
    (await readdir(join(root, "dist"))).map((name) => join(root, "dist", name));

  it("the build behaves like the sources, with threads and files read at run time, and is made once", async () => {
    expect(await said()).to.equal(words);
    expect(await said()).to.equal(words);
    expect(await folders()).to.deep.equal([await built({ root })]);
  });

  it("the start says that the build is being made before it is", async () => {
    const child = spawn(process.execPath, [join(root, "scripts/run.mjs"), "start"]);
    const ended = once(child, "close");
    const [said] = await once(child.stderr, "data");
    const finished = (await folders()).filter((folder) => !folder.includes("unfinished-"));
    expect(String(said)).to.match(/^The sources are new or have changed: building the service/);
    expect(finished).to.deep.equal([]);
    await ended;
    expect((await start()).stderr).to.equal("");
  });

  it("the build is made again when a source changes, even in place, and the older build still works", async () => {
    const first = await built({ root });
    const time = new Date(1_700_000_000_000);
    await utimes(join(root, "src/word.ts"), time, time);
    await write("src/word.ts", project["src/word.ts"]!.replace("first", "other"));
    await utimes(join(root, "src/word.ts"), time, time);
    expect(await said()).to.equal("other select 1 ✓ thread knows other");
    const old = `const { commands } = await import(${JSON.stringify(join(first, "commands.mjs"))}); await commands.start();`;
    const { stdout } = await run(process.execPath, ["--input-type=module", "-e", old]);
    expect(stdout.trim()).to.equal(words);
  });

  it("the build is made again when a source is added or removed, or a package changes", async () => {
    const made = [await built({ root })];
    await write("src/more.ts", "export {};");
    made.push(await built({ root }));
    await rm(join(root, "src/more.ts"));
    expect(await built({ root })).to.equal(made[0]);
    await write("package-lock.json", "{}");
    made.push(await built({ root }));
    await write("node_modules/.package-lock.json", "{}");
    made.push(await built({ root }));
    expect(new Set(made).size).to.equal(4);
  });

  it("the three latest builds are kept, older ones removed", async () => {
    const made: string[] = [];
    for (let n = 0; n < 5; n++) {
      await write("src/word.ts", `export const word: string = "${n}";`);
      made.push(await built({ root }));
      const time = new Date(1_700_000_000_000 + n * 1_000);
      await utimes(made[n]!, time, time);
    }
    expect((await folders()).sort()).to.deep.equal(made.slice(1).sort());
  });

  it("the build is complete if two processes make it at the same moment", async () => {
    expect(await Promise.all([said(), said()])).to.deep.equal([words, words]);
    expect(await folders()).to.deep.equal([await built({ root })]);
  });

  it("a failure in the build names the source, its line and column", async () => {
    const { stderr } = await start("fail").catch((error) => error);
    expect(stderr)
      .to.include("Error: as asked")
      .and.to.include(`${join(root, "src/program.ts")}:8:30`);
  });

  it("the code that Node compiled is kept from the first start on, also a killed one, if this Node can", async () => {
    const child = spawn(process.execPath, [join(root, "scripts/run.mjs"), "start", "stay"]);
    await once(child.stdout, "data");
    const compiled = join(await built({ root }), "compiled");
    const canKeep = "flushCompileCache" in module;
    const files = async () => (existsSync(compiled) ? readdir(compiled, { recursive: true }) : []);
    for (const end = Date.now() + 30_000; canKeep && (await files()).length < 2 && Date.now() < end; )
      await new Promise((resolve) => setTimeout(resolve, 20));
    child.kill("SIGKILL");
    await once(child, "close");
    expect((await files()).length > 1).to.equal(canKeep);
  });

  it("the sources run if the build cannot be made", async () => {
    await write("dist", "");
    const { stdout, stderr } = await start();
    expect(stdout.trim()).to.equal(words);
    expect(stderr).to.match(/^The service could not be built, so it runs from its sources: EEXIST/);
  });

  it("the start lists the commands when it is given an unknown name", async () => {
    const failed = await run(process.execPath, [join(root, "scripts/run.mjs"), "toString"]).catch((error) => error);
    expect(failed).to.include({ code: 1 });
    expect(failed.stderr).to.equal("Usage: node scripts/run.mjs start|build [ARGUMENT…]\n");
  });
});
