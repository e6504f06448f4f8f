import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { StartError } from "#src/platform/startError.ts";
import { newRingKey } from "./keyRing.ts";

/**
 * Returns the key ring of an installation that was given none: created once, stored in DATA_DIR and readable only by its owner. Throws
 * StartError.
 */
export function developmentKeys(dataDir: string): string {
  const file = join(dataDir, "secrets.keys");
  try {
    return stored(file) ?? make(dataDir, file);
  } catch (error) {
    throw new StartError(
      `The keys of this install cannot be kept in ${file}: ${(error as Error).message}. Set DATA_DIR to a writable directory, or set SECRETS_KEYS.`,
    );
  }
}

function make(dataDir: string, file: string): string {
  const ring = newRingKey("development");
  const own = `${file}.${process.pid}`;
  mkdirSync(dirname(dataDir), { recursive: true });
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  writeFileSync(own, `${ring}\n`, { mode: 0o600, flush: true });
  try {
    // Links atomically: of concurrent callers the later one uses the file of the first.
    linkSync(own, file);
    return ring;
  } catch (error) {
    const first = stored(file);
    if (!first) throw error;
    return first;
  } finally {
    rmSync(own, { force: true });
  }
}

function stored(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8").trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
