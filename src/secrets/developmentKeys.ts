import { link, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { StartError } from "#src/startError.ts";
import { newRingKey } from "./keyRing.ts";

/** The key ring of an install that was given none: made once, kept in DATA_DIR and readable by its owner alone. Throws StartError. */
export async function developmentKeys(dataDir: string): Promise<string> {
  const file = join(dataDir, "secrets.keys");
  try {
    return (await stored(file)) ?? (await make(dataDir, file));
  } catch (error) {
    throw new StartError(
      `The keys of this install cannot be kept in ${file}: ${(error as Error).message}. Set DATA_DIR to a directory that can be written, or SECRETS_KEYS.`,
    );
  }
}

async function make(dataDir: string, file: string): Promise<string> {
  const ring = newRingKey("development");
  const own = `${file}.${process.pid}`;
  await mkdir(dirname(dataDir), { recursive: true });
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  await writeFile(own, `${ring}\n`, { mode: 0o600, flush: true });
  try {
    // Whole or not at all, and once: who comes second takes what the first one made.
    await link(own, file);
    return ring;
  } catch (error) {
    const first = await stored(file);
    if (!first) throw error;
    return first;
  } finally {
    await rm(own, { force: true });
  }
}

async function stored(file: string): Promise<string | undefined> {
  try {
    return (await readFile(file, "utf8")).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
