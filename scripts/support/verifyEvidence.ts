import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { StartError } from "#src/platform/startError.ts";
import { Misuse } from "./command.ts";
import { unpackInto } from "./unpack.ts";

const verifier = fileURLToPath(import.meta.resolve("#src/audit/verify.mjs"));

/** Things that the auditor had before: the file of a checkpoint, the public key. */
type Known = { expect?: string | undefined; key?: string | undefined };

/**
 * Checks evidence with this project's own `verify.mjs`, not with the one that came with it. `path`: of an archive or of a folder. Sets the
 * exit code 1 if anything is wrong.
 */
export async function verifyEvidence(path: string | undefined, known: Known): Promise<void> {
  if (path === undefined) throw new Misuse("verify: expected the name of an archive or a folder.");
  const found = await stat(path).catch((error: Error) => {
    throw new StartError(`${path} cannot be read: ${error.message}.`);
  });
  if (found.isDirectory()) return verify(path, known);
  const folder = await mkdtemp(join(tmpdir(), "countersign-evidence-"));
  try {
    await unpackInto(folder, await readFile(path)).catch((error: Error) => {
      throw new StartError(`${path} cannot be unpacked: ${error.message}. Unpack it, and give the folder.`);
    });
    await verify(folder, known);
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function verify(folder: string, known: Known): Promise<void> {
  const options = Object.entries({ expect: known.expect, key: known.key }).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, value],
  );
  const { out, err, failed } = await run([verifier, folder, ...options]);
  if (out !== "") console.log(out.trimEnd());
  if (err !== "") console.error(err.trimEnd());
  if (failed) process.exitCode = 1;
}

const run = (args: readonly string[]): Promise<{ out: string; err: string; failed: boolean }> =>
  new Promise((resolve) => {
    execFile(process.execPath, args, { maxBuffer: 2 ** 28 }, (error, out, err) =>
      resolve({ out, err, failed: error !== null }),
    );
  });
