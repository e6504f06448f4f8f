import { chmod, mkdtemp, statfs } from "node:fs/promises";
import { availableParallelism, freemem, tmpdir } from "node:os";
import { join } from "node:path";
import { claimRun, sweepRuns } from "./runOwner.ts";
import { runPrefix } from "./testLeftovers.ts";

/** A file system in memory, where Linux has one. */
const memory = "/dev/shm";
/** Bytes that a lane may need at most: servers of its own and of the services that it starts, with their logs. */
const bytesOfLane = 1.5 * 2 ** 30;

/**
 * A new directory for what a run of the tests writes. In memory if there is ample room: a database is copied there in a tenth of the time
 * (20 ms of CPU in place of 200), and no test needs its data to survive the machine; `onDisk` for what is larger than memory. TMPDIR, if it is set, comes first. What
 * runs have left there that are gone is removed.
 */
export async function makeRunDirectory({ onDisk = false } = {}): Promise<string> {
  for (const folder of process.env.TMPDIR ? [process.env.TMPDIR] : [memory, tmpdir()]) await sweepRuns(folder);
  const inMemory = process.env.TMPDIR || onDisk ? undefined : await roomInMemory();
  const directory = await mkdtemp(join(inMemory ?? tmpdir(), runPrefix));
  // If this is run as root, PostgreSQL is not, and has its data below.
  await chmod(directory, 0o755);
  await claimRun(directory);
  return directory;
}

async function roomInMemory(): Promise<string | undefined> {
  const { bavail, bsize } = await statfs(memory).catch(() => ({ bavail: 0, bsize: 0 }));
  return Math.min(bavail * bsize, freemem()) > bytesOfLane * (availableParallelism() + 1) ? memory : undefined;
}
