import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { appendFile, cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { expect } from "chai";
import { sized } from "#test/support/full.ts";
import { bundle, bundled, programIn, projectRoot } from "../../scripts/support/bundle.mjs";

const run = promisify(execFile);
const lean = `--import=${new URL("../../scripts/support/lean.mjs", import.meta.url).href}`;

/** A small project, of every kind of file that the service is made of. */
const project: Record<string, string> = {
  "package.json": `{ "type": "module", "imports": { "#src/*": "./src/*" } }`,
  "src/main.ts": `
import { readFileSync } from "node:fs";
import { word } from "#src/words/word.ts";
import { inThread } from "#src/threads/ask.ts";
const sql: string = readFileSync(new URL("./tables.sql", import.meta.url), "utf8");
console.log(word, sql.trim(), await inThread());
if (process.argv[2] === "fail") fail();
if (process.argv[2] === "fail oddly") console.log((odd() as { stack: string }).stack);
if (process.argv[2] === "fail in a thread") await inThread("fail");
function fail(): never {
  throw new Error("as asked");
}
function odd(): object {
  const told = Object.create(null);
  Error.captureStackTrace(told);
  return told;
}
`,
  "src/tables.sql": "select 1",
  "src/words/word.ts": `export const word: string = "first";`,
  "streams/noted/decider.ts": "export const rules: string = 'as they are';",
  "src/threads/ask.ts": `
import { once } from "node:events";
import { Worker } from "node:worker_threads";
export const inThread = async (wish?: string): Promise<string> =>
  (await once(new Worker(new URL("./askWorker.mjs", import.meta.url), { workerData: wish, execArgv: [] }), "message"))[0];
`,
  "src/threads/askWorker.mjs": `import { register } from "tsx/esm/api";\nregister();\nawait import("./askThread.ts");`,
  "src/threads/askThread.ts": `
import { parentPort, workerData } from "node:worker_threads";
import { word } from "#src/words/word.ts";
if (workerData === "fail") throw new Error("in the thread");
const answer: string = \`thread knows \${word}\`;
parentPort?.postMessage(answer);
`,
};

/** The same as a service has it: a line that starts, and all the rest. */
const service: Record<string, string> = {
  ...project,
  "node_modules/letters/package.json": `{ "name": "letters", "main": "index.js" }`,
  "node_modules/letters/index.js": `
exports.isLetter = (text) => /^\\\\é$/.test(text);
exports.fail = () => {
  throw new Error("in a package");
};
`,
  "src/main.ts": `
import { runService } from "./program.ts";
await runService();
`,
  "src/program.ts": `
import { readFileSync } from "node:fs";
import { fail, isLetter } from "letters";
import { word } from "#src/words/word.ts";
import { inThread } from "#src/threads/ask.ts";
const sql: string = readFileSync(new URL("./tables.sql", import.meta.url), "utf8");
export async function runService(): Promise<void> {
  const { later } = await import("./later.ts");
  console.log(word, sql.trim(), later, await inThread());
  if (process.argv[2] === "fail") throw new Error("as asked");
  if (process.argv[2] === "fail in a package") fail();
  if (process.argv[2] === "letter") console.log(isLetter("\\\\\u00e9"));
}
`,
  "src/later.ts": `export const later: string = "later";`,
};

describe("the bundle that processes start from", () => {
  let root: string;
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), "countersign-bundle-"));
    await mkdir(join(root, "node_modules"));
    for (const [file, text] of Object.entries(project)) {
      await mkdir(join(root, file, ".."), { recursive: true });
      await write(file, text);
    }
  });
  afterEach(() => rm(root, { recursive: true, force: true }));

  const write = (file: string, text: string): Promise<void> => writeFile(join(root, file), text);
  const made = (): Promise<string> => bundle(["src/main.ts"], { root, folders: ["src", "streams"] });
  const program = (place: string): string[] => [lean, bundled(place, "src/main.ts")];
  const said = async (place: string): Promise<string> => (await run(process.execPath, program(place))).stdout.trim();
  const kept = async (): Promise<string[]> => (await readdir(join(root, "node_modules/.cache/countersign"))).sort();

  it("does what the sources say, with its threads and what is read beside the sources, and is made once", async () => {
    const place = await made();
    expect(await said(place)).to.equal("first select 1 thread knows first");
    expect(await made()).to.equal(place);
    expect(await kept()).to.deep.equal([basename(place)]);
  });

  it("is written in ASCII, and says every letter all the same", async () => {
    await write(
      "src/words/word.ts",
      "/** “Quoted” – */ const tag = ([text]: TemplateStringsArray): string => text!;\n" +
        'export const word: string = ["…", `ä`, tag`✓`, "\\é", "x😀y”".replace(/[”😀]+/gu, "ß")].join("");',
    );
    const place = await made();
    expect(await said(place)).to.equal("…ä✓éxßyß select 1 thread knows …ä✓éxßyß");
    for (const file of (await readdir(place, { recursive: true })).filter((name) => /[.][cm]js$/.test(name)))
      expect(await readFile(join(place, file), "utf8"), file).to.match(/^[\0-\x7f]*$/);
  });

  it("has the sources of the streams' rules, so that the service can tell which made a snapshot", async () => {
    const file = "streams/noted/decider.ts";
    expect(await readFile(join(await made(), file), "utf8")).to.equal(project[file]);
  });

  it("is another one when a source, a thread or an SQL file changes, also one that keeps its length and its time", async () => {
    const first = await made();
    const time = new Date(1_700_000_000_000);
    const changes = {
      "src/words/word.ts": `export const word: string = "other";`,
      "src/tables.sql": "select 2",
      "src/threads/askThread.ts": project["src/threads/askThread.ts"]!.replace("knows", "heard"),
    };
    const places = [first];
    for (const [file, text] of Object.entries(changes)) {
      await utimes(join(root, file), time, time);
      expect(text.length).to.equal(project[file]!.length);
      await write(file, text);
      await utimes(join(root, file), time, time);
      places.push(await made());
    }
    expect(new Set(places).size).to.equal(4);
    expect(await said(places[3]!)).to.equal("other select 2 thread heard other");
    expect(await said(first), "who runs the old one still reads what belongs to it").to.equal(
      "first select 1 thread knows first",
    );
  });

  it("is another one when a file goes or comes, a package changes, or the project is moved", async () => {
    const places = [await made()];
    await rm(join(root, "src/words/word.ts"));
    expect(await made().catch((error) => error.message)).to.match(/Could not resolve "#src\/words\/word.ts"/);
    await write("src/words/word.ts", project["src/words/word.ts"]!);
    expect(await made()).to.equal(places[0]);
    await write("src/0002.sql", "select 3");
    places.push(await made());
    expect(await readdir(join(places[1]!, "src"))).to.include("0002.sql");
    await rm(join(root, "src/0002.sql"));
    await write("package-lock.json", "{}");
    places.push(await made());
    await write("node_modules/.package-lock.json", "{}");
    places.push(await made());
    expect(new Set(places).size).to.equal(4);
    expect(await kept(), "nothing unfinished stays").to.deep.equal(places.map((place) => basename(place)).sort());
  });

  it("is another one when that which makes it changes", async () => {
    const support = new URL("../../scripts/support/", import.meta.url);
    const makers = (await readdir(support)).filter((name) => /^bundle.*\.mjs$/.test(name));
    expect(makers.length).to.be.above(1);
    const places = [await made()];
    for (const changed of ["", ...makers]) {
      const folder = join(root, "makers", changed || "same", "scripts/support");
      await cp(support, folder, { recursive: true });
      await symlink(join(projectRoot, "node_modules"), join(root, "makers", changed || "same", "node_modules"));
      if (changed) await appendFile(join(folder, changed), "\n// changed\n");
      const { bundle: make } = await import(pathToFileURL(join(folder, "bundle.mjs")).href);
      places.push(await make(["src/main.ts"], { root, folders: ["src", "streams"] }));
    }
    expect(places[1]).to.equal(places[0]);
    expect(new Set(places).size).to.equal(1 + makers.length);
  });

  it("is whole when many make it at the same moment", async () => {
    const maker = `import { bundle } from ${JSON.stringify(new URL("../../scripts/support/bundle.mjs", import.meta.url).href)};
      console.log(await bundle(["src/main.ts"], { root: ${JSON.stringify(root)}, folders: ["src", "streams"] }));`;
    const makers = Array.from({ length: sized(2, 4) }, async () => {
      const { stdout } = await run(process.execPath, ["--input-type=module", "-e", maker]);
      return [stdout.trim(), await said(stdout.trim())];
    });
    const answers = await Promise.all(makers);
    const place = await made();
    expect(answers).to.deep.equal(answers.map(() => [place, "first select 1 thread knows first"]));
    expect(await kept()).to.deep.equal([basename(place)]);
  });

  it("is seen by others only when it is whole", async () => {
    let place: string | undefined;
    const making = made().then((path) => (place = path));
    while (place === undefined) {
      for (const name of (await kept().catch(() => [])).filter((each) => !each.startsWith(".")))
        for (const file of ["main.mjs", "tables.sql", "threads/askWorker.mjs"])
          expect(existsSync(join(root, "node_modules/.cache/countersign", name, "src", file)), file).to.equal(true);
      await new Promise(setImmediate);
    }
    expect(await making).to.equal(place);
  });

  it("names the source, its line and column where something fails", async () => {
    const error = await run(process.execPath, [...program(await made()), "fail"]).catch((thrown) => thrown);
    expect(error.stderr).to.include("Error: as asked");
    expect(error.stderr).to.include(`${join(root, "src/main.ts")}:11:9`);
  });

  it("names the source where a thread fails", async () => {
    const error = await run(process.execPath, [...program(await made()), "fail in a thread"]).catch((thrown) => thrown);
    expect(error.stderr).to.include("Error: in the thread");
    expect(error.stderr).to.include(`${join(root, "src/threads/askThread.ts")}:4:34`);
  });

  it("names it also for what is no error, and where its map is gone it names what ran", async () => {
    const place = await made();
    const { stdout } = await run(process.execPath, [...program(place), "fail oddly"]);
    expect(stdout).to.include(`${join(root, "src/main.ts")}:15:9`);
    await rm(`${bundled(place, "src/main.ts")}.map`);
    const error = await run(process.execPath, [...program(place), "fail"]).catch((thrown) => thrown);
    expect(error.stderr).to.match(/Error: as asked\n\s+at fail \(file:.*main\.mjs:\d+:\d+\)/);
  });

  it("goes where nobody used it for a day, when the next one is made", async () => {
    const first = await made();
    const old = new Date(Date.now() - 2 * 86_400_000);
    await utimes(first, old, old);
    await write("src/tables.sql", "select 9");
    const second = await made();
    expect(await kept()).to.deep.equal([basename(second)]);
  });
});

describe("the service that processes start from a bundle", () => {
  const words = "first select 1 later thread knows first";
  let root: string;
  let place: string;
  let program: string;
  before(async () => {
    root = await mkdtemp(join(tmpdir(), "countersign-bundle-"));
    await mkdir(join(root, "node_modules"));
    for (const [file, text] of Object.entries(service)) {
      await mkdir(join(root, file, ".."), { recursive: true });
      await writeFile(join(root, file), text);
    }
    place = await bundle(["src/main.ts"], { root, folders: ["src", "streams"] });
    program = await readFile(programIn(place), "utf8");
  });
  after(() => rm(root, { recursive: true, force: true }));
  /** As it was made: nobody has started it. */
  beforeEach(async () => {
    await writeFile(programIn(place), program);
    for (const name of await kept()) await rm(join(place, "src", name), { recursive: true });
  });

  const start = (...args: string[]) => run(process.execPath, [lean, bundled(place, "src/main.ts"), ...args]);
  const said = async (): Promise<string> => (await start()).stdout.trim();
  const kept = async (): Promise<string[]> =>
    (await readdir(join(place, "src"))).filter((name) => /^program\.cjs\.\d/.test(name));
  let ofFirstStart: { name: string; whole: Buffer } | undefined;
  /** Leaves what the first start keeps, which is seen once; gives its path and its bytes. */
  const startedOnce = async (): Promise<{ file: string; whole: Buffer }> => {
    if (!ofFirstStart) {
      expect(await said()).to.equal(words);
      const names = await kept();
      expect(names).to.have.length(1);
      const [name = ""] = names;
      ofFirstStart = { name, whole: await readFile(join(place, "src", name)) };
    }
    const { name, whole } = ofFirstStart;
    const file = join(place, "src", name);
    await writeFile(file, whole);
    return { file, whole };
  };
  /** Another word in what is compiled, of the same length: by that V8 knows it again. */
  const changeProgram = async (): Promise<void> => {
    expect(program).to.include('"first"');
    await writeFile(programIn(place), program.replace('"first"', '"other"'));
  };

  it("is compiled at its first start, and not again after that", async () => {
    await startedOnce();
    await changeProgram();
    expect(await said(), "as it was compiled").to.equal(words);
  });

  for (const [what, damaged] of Object.entries({
    "cut short": (bytes: Buffer) => bytes.subarray(0, bytes.length >> 1),
    empty: () => Buffer.alloc(0),
    "damaged within": (bytes: Buffer) => bytes.with(bytes.length >> 1, bytes[bytes.length >> 1]! ^ 1),
  }))
    it(`is compiled again where what was kept is ${what}`, async () => {
      const { file, whole } = await startedOnce();
      await writeFile(file, damaged(whole));
      await changeProgram();
      expect(await said()).to.equal("other select 1 later thread knows first");
      expect((await readFile(file)).length).to.equal(whole.length);
      expect(await kept()).to.have.length(1);
    });

  it("starts as well where nothing can be kept", async () => {
    const { file } = await startedOnce();
    await rm(file);
    await mkdir(file);
    expect(await said()).to.equal(words);
    expect(await kept(), "nothing unfinished stays").to.deep.equal([basename(file)]);
  });

  it("is compiled for other flags of Node beside that", async () => {
    await startedOnce();
    await run(process.execPath, ["--stack-size=900", lean, bundled(place, "src/main.ts")]);
    expect(await kept()).to.have.length(2);
  });

  it("says every letter, also where its text cannot be in ASCII", async () => {
    expect(program).to.match(/[^\0-\x7f]/);
    for (const turn of ["first", "second"]) expect((await start("letter")).stdout, turn).to.match(/^true$/m);
  });

  it("names the file where a package fails, and has no map of its lines", async () => {
    const error = await start("fail in a package").catch((thrown) => thrown);
    expect(error.stderr).to.match(/Error: in a package\n\s+at .*node_modules\/letters\/index\.js:1:1\)/);
  });

  it("names the source, its line and column where something fails, compiled before or not", async () => {
    for (const turn of ["first", "second"]) {
      const error = await start("fail").catch((thrown) => thrown);
      expect(error.stderr, turn).to.include(`${join(root, "src/program.ts")}:10:41`);
    }
  });
});
