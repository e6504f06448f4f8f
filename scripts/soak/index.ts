import { rm } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "#src/platform/embeddedPostgres/embeddedPostgres.ts";
import { createLogger } from "#src/platform/logger.ts";
import { runUntilStopped } from "#src/start/lifecycle.ts";
import { removeRun } from "../support/removeRun.ts";
import { makeRunDirectory } from "../support/runDirectory.ts";
import { startNoMore } from "../support/serviceProcess.ts";
import { createReport, type Proof, type Report, usualSeed } from "./proof.ts";
import { proofs } from "./proofs.ts";

/**
 * `npm run soak -- [NAME …] [--size N] [--seed S]`: runs the long proofs at full size, on a separate PostgreSQL (or that of
 * TEST_DATABASE_ADMIN_URL). Ends with a table of figures; exit code 1 if anything was violated.
 */
const logger = createLogger("warn");
const { chosen, size, seed } = asked();
let postgres: EmbeddedPostgres | undefined;
let directory: string | undefined;

await runUntilStopped({
  logger,
  endWithParent: true,
  async start(end) {
    directory = await makeRunDirectory({ onDisk: true });
    // The files and processes of the proofs belong to this directory, and are removed with it, even if the proofs are aborted.
    process.env.TMPDIR = directory;
    if (!process.env.TEST_DATABASE_ADMIN_URL) {
      postgres = await startEmbeddedPostgres({ dataDir: join(directory, "data"), logger });
      process.env.TEST_DATABASE_ADMIN_URL = postgres.adminUrl;
    }
    void runAll().finally(() => end("the proofs are done"));
  },
  async drain() {
    startNoMore();
  },
  async lastly() {
    await postgres?.stop();
    if (directory) await removeRun(directory);
    // The server's data are elsewhere if its user cannot reach this directory.
    if (postgres) await rm(postgres.directory, { recursive: true, force: true });
  },
});

async function runAll(): Promise<void> {
  const reports = new Map<Proof, Report>();
  for (const proof of chosen) {
    console.log(`\n${line(proof)}`);
    reports.set(proof, await run(proof));
  }
  if (reports.size > 1) console.log("\nall of them:");
  if (reports.size > 1) for (const [proof, report] of reports) show(proof, report);
  if ([...reports.values()].some(({ violations }) => violations.length > 0)) process.exitCode = 1;
}

async function run(proof: Proof): Promise<Report> {
  const began = performance.now();
  const report = createReport(progressLine());
  report.figure("seed", seed);
  try {
    await proof.run({ size: size ?? proof.full, seed, report });
  } catch (error) {
    report.violation(`broke off: ${error instanceof Error ? error.stack : error}`);
  }
  report.figure("took", `${Math.round((performance.now() - began) / 1000)} s`);
  show(proof, report);
  return report;
}

/** Shows progress: on a terminal one line that is rewritten, in a file a line now and then. */
function progressLine(): (text: string) => void {
  const everyMs = process.stdout.isTTY ? 100 : 15_000;
  let shown = performance.now();
  return (text) => {
    if (performance.now() - shown < everyMs) return;
    shown = performance.now();
    process.stdout.write(process.stdout.isTTY ? `\r\u001b[K  ${text}` : `  ${text}\n`);
  };
}

function show({ name }: Proof, { figures, violations }: Report): void {
  const width = Math.max(...[...figures.keys()].map((key) => key.length), 0);
  console.log(
    `${process.stdout.isTTY ? "\r\u001b[K" : ""}${name}: ${violations.length === 0 ? "no violation" : `${violations.length} VIOLATIONS`}`,
  );
  for (const [key, value] of figures) console.log(`  ${key.padEnd(width)}  ${value}`);
  for (const violation of violations.slice(0, 20)) console.log(`  ✗ ${violation}`);
}

function line({ name, title, full, unit }: Proof): string {
  return `${name.padEnd(10)} ${title} (${full} ${unit})`;
}

/** Parses the arguments; prints the usage and exits if they are wrong. */
function asked(): { chosen: readonly Proof[]; size: number | undefined; seed: number } {
  try {
    const options = { size: { type: "string" }, seed: { type: "string" } } as const;
    const { values, positionals } = parseArgs({ options, allowPositionals: true });
    const [size, seed] = [values.size, values.seed].map((text) => {
      if (text !== undefined && !/^[1-9]\d*$/.test(text)) throw new Error(`${text} is no whole number above 0`);
      return text === undefined ? undefined : Number(text);
    });
    const unknown = positionals.find((name) => !proofs.some((proof) => proof.name === name));
    if (unknown !== undefined) throw new Error(`there is no proof ${unknown}`);
    const chosen = proofs.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
    return { chosen, size, seed: seed ?? usualSeed };
  } catch (error) {
    console.error(
      `${(error as Error).message}\n\nnpm run soak -- [NAME …] [--size N] [--seed S]\n\n${proofs.map(line).join("\n")}`,
    );
    return process.exit(1);
  }
}
