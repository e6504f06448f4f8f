import { readdir, readFile, readlink, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { removeRun, runPrefix } from "./testLeftovers.ts";

/** In a run's directory: who runs it. */
const ownerFile = "runner";

/** `machine`: its boot and the namespace of its process ids, so that an id means the same to who reads it. `since`: ticks from the boot to its start. */
type Owner = { machine: string; pid: number; since: string };

/** Notes that the run is this process's. Elsewhere than on Linux nothing is noted. */
export async function claimRun(directory: string): Promise<void> {
  const [machine, since] = await Promise.all([thisMachine(), startOf(process.pid)]);
  if (machine === undefined || since === undefined) return;
  await writeFile(join(directory, ownerFile), JSON.stringify({ machine, pid: process.pid, since } satisfies Owner));
}

/**
 * Removes what runs have left in this folder whose process, on this machine, is gone, with what they left running: those that were killed together with
 * all that could tidy up. Other users' runs, those of other machines or containers, and those nobody claimed stay. Never fails.
 */
export async function sweepRuns(folder: string): Promise<void> {
  const machine = await thisMachine();
  if (machine === undefined) return;
  const names = await readdir(folder).catch(() => []);
  for (const name of names.filter((each) => each.startsWith(runPrefix))) {
    const directory = join(folder, name);
    if (await isLeft(directory, machine)) await removeRun(directory).catch(() => undefined);
  }
}

async function isLeft(directory: string, here: string): Promise<boolean> {
  try {
    if ((await stat(directory)).uid !== process.getuid?.()) return false;
    const { machine, pid, since }: Owner = JSON.parse(await readFile(join(directory, ownerFile), "utf8"));
    return machine === here && since !== (await startOf(pid));
  } catch {
    return false;
  }
}

async function thisMachine(): Promise<string | undefined> {
  try {
    const boot = await readFile("/proc/sys/kernel/random/boot_id", "utf8");
    return `${boot.trim()} ${await readlink("/proc/self/ns/pid")}`;
  } catch {
    return undefined;
  }
}

/** Undefined if there is no such process, or it has ended. */
async function startOf(pid: number): Promise<string | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  const [state, ...fields] = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return state === "Z" ? undefined : fields[18];
}
