import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, isAbsolute, join } from "node:path";
import { fileURLToPath } from "node:url";

/** How many milliseconds each file of tests took when it last ran, on this machine. */
type Durations = Record<string, number>;

const kept = fileURLToPath(new URL("../../node_modules/.cache/countersign-tests.json", import.meta.url));

/** The test files of these paths, the longest first: none is left running alone at the end. */
export function testFiles(paths: readonly string[]): string[] {
  const known = read();
  const files = [...new Set(paths.flatMap(testsIn))];
  const expected = new Map(files.map((file) => [file, known[file] ?? guess(file)]));
  return files.sort((a, b) => expected.get(b)! - expected.get(a)! || a.localeCompare(b));
}

/** For the next run. If that cannot be written, it goes by its guesses. */
export function keepDurations(ran: ReadonlyMap<string, number>): void {
  const own = [...ran].filter(([file]) => !isAbsolute(file));
  try {
    mkdirSync(dirname(kept), { recursive: true });
    writeFileSync(kept, JSON.stringify({ ...read(), ...Object.fromEntries(own) }, null, 1));
  } catch {}
}

/** What a file that never ran here may take, by what it starts. */
function guess(file: string): number {
  const text = readFileSync(file, "utf8");
  const starts = (pattern: RegExp, ms: number): number => (text.match(pattern)?.length ?? 0) * ms;
  if (/\bsampled\(/.test(text)) return 30_000;
  return 200 + starts(/\bstart(Service|Instance)\(|SIGKILL/g, 5_000) + starts(/\bstartInProcess\(/g, 3_000);
}

function read(): Durations {
  try {
    return JSON.parse(readFileSync(kept, "utf8"));
  } catch {
    return {};
  }
}

function testsIn(path: string): string[] {
  if (!statSync(path).isDirectory()) return [path];
  const names = readdirSync(path, { recursive: true, encoding: "utf8" });
  return names.filter((name) => name.endsWith(".test.ts")).map((name) => join(path, name));
}
