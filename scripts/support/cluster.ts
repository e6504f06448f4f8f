import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { prepareDirectories } from "#src/platform/embeddedPostgres/directories.ts";
import { initialise } from "#src/platform/embeddedPostgres/postmaster.ts";

const run = promisify(execFile);

/**
 * Makes a database cluster in `dataDir`, an absolute path, for `copyCluster`: `initdb` takes a second of CPU each time, a copy a
 * twentieth of that. Returns false, and makes nothing, if a server on this machine cannot have its data below `dataDir`.
 */
export async function makeCluster(dataDir: string): Promise<boolean> {
  const place = await prepareDirectories(dataDir);
  if (place.directory !== join(dataDir, "postgres")) return false;
  await initialise(place);
  return true;
}

/** Copies the cluster of TEST_CLUSTER, made by a run of the tests, into `dataDir` for the first start; does nothing if there is none. */
export async function copyCluster(dataDir: string, made = process.env.TEST_CLUSTER): Promise<void> {
  if (!made || existsSync(join(dataDir, "postgres.json"))) return;
  await mkdir(dataDir, { recursive: true });
  // With owners and modes: if root runs this, its servers run as another user.
  await run("cp", ["-a", join(made, "."), dataDir]);
}
