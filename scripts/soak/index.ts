import { rm } from "node:fs/promises";
import { join } from "node:path";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "#src/embeddedPostgres/embeddedPostgres.ts";
import { runUntilStopped } from "#src/lifecycle.ts";
import { createLogger } from "#src/logger.ts";
import { startNoMore } from "../support/instance.ts";
import { makeRunDirectory } from "../support/runDirectory.ts";
import { removeRun } from "../support/testLeftovers.ts";
import { createReport, type Proof, type Report } from "./proof.ts";
import { proofs } from "./proofs.ts";

/**
 * `npm run soak -- [NAME …] [--size N]`: the long proofs at full size, on a PostgreSQL of their own (or that of TEST_DATABASE_ADMIN_URL).
 * Ends with a table of figures; exit code 1 where anything was violated.
 */
const logger = createLogger("warn");
const { names, size } = asked(process.argv.slice(2));
const chosen = proofs.filter(({ name }) => names.length === 0 || names.includes(name));
let postgres: EmbeddedPostgres | undefined;
let directory: string | undefined;

if (chosen.length === 0 || names.some((name) => !proofs.some((proof) => proof.name === name))) {
  console.error(`npm run soak -- [NAME …] [--size N]\n\n${proofs.map(line).join("\n")}`);
  process.exit(1);
}

await runUntilStopped({
  logger,
  endWithParent: true,
  async start(end) {
    directory = await makeRunDirectory({ onDisk: true });
    // What the proofs write and start belongs to it, and goes with it, also when they are stopped.
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
    // Outside of it, if the server's user could not reach it there.
    if (postgres) await rm(postgres.directory, { recursive: true, force: true });
  },
});

async function runAll(): Promise<void> {
  const reports = new Map<Proof, Report>();
  for (const proof of chosen) {
    console.log(`\n${line(proof)}`);
    reports.set(proof, await run(proof));
  }
  console.log("");
  for (const [proof, report] of reports) show(proof, report);
  if ([...reports.values()].some(({ violations }) => violations.length > 0)) process.exitCode = 1;
}

async function run(proof: Proof): Promise<Report> {
  const began = performance.now();
  const report = createReport(progressLine());
  try {
    await proof.run(size ?? proof.full, report);
  } catch (error) {
    report.violation(`broke off: ${error instanceof Error ? error.stack : error}`);
  }
  report.figure("took", `${Math.round((performance.now() - began) / 1000)} s`);
  show(proof, report);
  return report;
}

/** On a terminal one line that moves; in a file a line now and then. */
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

function asked(words: string[]): { names: string[]; size: number | undefined } {
  const at = words.indexOf("--size");
  const size = at < 0 ? undefined : Number(words[at + 1]);
  if (size !== undefined && !(Number.isInteger(size) && size > 0)) throw new Error("--size: expected a whole number");
  return { names: at < 0 ? words : [...words.slice(0, at), ...words.slice(at + 2)], size };
}
