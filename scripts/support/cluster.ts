import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { preparePlace } from "#src/platform/embeddedPostgres/place.ts";
import { initialise } from "#src/platform/embeddedPostgres/postmaster.ts";

const run = promisify(execFile);

/**
 * Makes a database cluster in `dataDir`, an absolute path, from which `copyCluster` makes others: `initdb` takes a second of CPU each time, a
 * copy a twentieth of that. False, and nothing is made, if a server of this machine cannot have its data below `dataDir`.
 */
export async function makeCluster(dataDir: string): Promise<boolean> {
  const place = await preparePlace(dataDir);
  if (place.directory !== join(dataDir, "postgres")) return false;
  await initialise(place);
  return true;
}

/** Lets the first start in `dataDir` find the cluster that a run of the tests has made, if there is one: TEST_CLUSTER is where. */
export async function copyCluster(dataDir: string, made = process.env.TEST_CLUSTER): Promise<void> {
  if (!made || existsSync(join(dataDir, "postgres.json"))) return;
  await mkdir(dataDir, { recursive: true });
  // With owners and modes: root's servers run as somebody else.
  await run("cp", ["-a", join(made, "."), dataDir]);
}
