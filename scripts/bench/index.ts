import { execFileSync, spawn } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { cpus, totalmem } from "node:os";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { progress, type Row } from "./bench.ts";
import { benches } from "./benches.ts";
import { differencesOf, figuresOf, ratioOf, tableOf } from "./table.ts";

const usage = `npm run bench -- [NAME …] [--size N] [--rounds N] [--beside DIR [--parts]]
npm run bench -- table                  all of them, three rounds each, into scripts/bench/README.md

NAME: ${Object.keys(benches).join(", ")}; all of them by default.
--size    how much work one round has, in the benchmark's own unit
--rounds  runs each benchmark so often and shows medians (default 1)
--beside  a checkout of another commit, with its own node_modules: measured in turns with this one
--parts   with --beside: lists the events, bytes and statements that the two differ by`;

const root = fileURLToPath(new URL("../../", import.meta.url));
const readme = new URL("README.md", import.meta.url);
const { names, size, rounds, beside, isTable, hasParts } = asked();

let running: ReturnType<typeof spawn> | undefined;
// The process of the benchmark stops everything it started; this process waits for that.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => running?.kill(signal));

const measured = `Measured on ${new Date().toISOString().slice(0, 10)} at commit ${commitOf(root)} on ${machine()}; ${rounds === 1 ? "one round" : `medians of ${rounds} rounds`}.`;
const rows: Row[] = [];
const differences: string[] = [];
for (const name of names) {
  const [here, there]: Row[][][] = [[], []];
  for (let round = 0; round < rounds; round++) {
    here!.push(await run(name, root));
    if (beside !== undefined) there!.push(await run(name, beside));
  }
  rows.push(...(beside === undefined ? figuresOf(here!) : compared(here!, there!, beside)));
}
progress("");
const made = `${measured}\n\n${tableOf(rows)}`;
console.log(made);
if (hasParts) console.log(`\n${differences.join("\n\n")}`);
if (isTable) await writeFile(readme, (await readFile(readme, "utf8")).replace(/^Measured on [\s\S]*/m, `${made}\n`));

/** Runs one benchmark once, in a separate process. Ends this process if that fails. */
async function run(name: string, checkout: string): Promise<Row[]> {
  const words = ["--import", "tsx", "scripts/bench/one.ts", name, ...(size === undefined ? [] : [size])];
  const child = spawn(process.execPath, words, { cwd: checkout, stdio: ["ignore", "pipe", "inherit"] });
  running = child;
  const said = await text(child.stdout);
  if (said === "") process.exit(1);
  return JSON.parse(said);
}

/** Returns the rows of both checkouts with their ratio, and with several rounds the least and the most of each figure. */
function compared(here: Row[][], there: Row[][], checkout: string): Row[] {
  const spread = (of: Row[][], at: number): Row[] =>
    rounds === 1
      ? []
      : [0, 1].map((share) => ({ ...figuresOf(of, share)[at]!, what: share === 0 ? "    least" : "    most" }));
  const others = figuresOf(there);
  return figuresOf(here).flatMap((row, at) => {
    const place = others.findIndex(({ what }) => what === row.what);
    const other = others[place];
    if (other === undefined) return [row];
    differences.push(differencesOf(row, other));
    const named = { ...other, what: `  at ${commitOf(checkout)}` };
    return [row, ...spread(here, at), named, ...spread(there, place), ratioOf(row, other)];
  });
}

function commitOf(checkout: string): string {
  try {
    return execFileSync("git", ["describe", "--always", "--dirty"], { cwd: checkout, encoding: "utf8" }).trim();
  } catch {
    return "unknown";
  }
}

function machine(): string {
  const gigabytes = Math.round(totalmem() / 2 ** 30);
  return `${cpus().length} × ${cpus()[0]?.model.trim()}, ${gigabytes} GB, Node ${process.version}`;
}

function asked() {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        size: { type: "string" },
        rounds: { type: "string" },
        beside: { type: "string" },
        parts: { type: "boolean" },
      },
    });
    const isTable = positionals.join() === "table";
    const names = isTable || positionals.length === 0 ? Object.keys(benches) : positionals;
    const { size, rounds = isTable ? "3" : "1", beside, parts: hasParts = false } = values;
    const isCount = (value: string): boolean => Number.isInteger(Number(value)) && Number(value) > 0;
    if (names.every((name) => name in benches) && isCount(rounds) && isCount(size ?? "1"))
      return { names, size, rounds: Number(rounds), beside, isTable, hasParts };
  } catch {}
  console.error(usage);
  process.exit(1);
}
