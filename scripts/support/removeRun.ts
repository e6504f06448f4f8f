import { readdir, readFile, rm } from "node:fs/promises";
import { basename } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

/** Prefix of the name of a run's directory. */
export const runPrefix = "countersign-test-";
const patienceMs = 5_000;

/**
 * Ends every process of a run of the tests, however it was started, and removes the run's directory. A process belongs to the run if its
 * command line or its environment names the directory: services and PostgreSQL servers have their data below it.
 */
export async function removeRun(directory: string): Promise<void> {
  // A shorter name could match processes of others.
  if (!basename(directory).startsWith(runPrefix)) throw new TypeError(`${directory} is no directory of a run`);
  // A PostgreSQL server that gets SIGQUIT exits at once and frees its shared memory; SIGKILL is for other processes, and for those that
  // ignore SIGQUIT.
  for (const ofServers of ["SIGQUIT", "SIGKILL"] as const) {
    const until = Date.now() + patienceMs;
    for (let found = await processesOf(directory); found.length > 0 && Date.now() < until; ) {
      for (const { pid, isServer } of found) kill(pid, isServer ? ofServers : "SIGKILL");
      await sleep(50);
      // A process that has ended may have started another before.
      found = await processesOf(directory);
    }
  }
  await rm(directory, { recursive: true, force: true, maxRetries: 5 });
}

/**
 * Finds the processes except this one. On systems other than Linux it finds none: the servers of the run itself are stopped in order
 * anyway.
 */
async function processesOf(directory: string): Promise<{ pid: number; isServer: boolean }[]> {
  const pids = (await readdir("/proc").catch(() => [])).map(Number).filter((pid) => pid > 0 && pid !== process.pid);
  const found = await Promise.all(
    pids.map(async (pid) => {
      const [command, environment] = await Promise.all([
        textOf(`/proc/${pid}/cmdline`),
        textOf(`/proc/${pid}/environ`),
      ]);
      const isOurs = command.includes(directory) || environment.includes(directory);
      return isOurs ? [{ pid, isServer: command.includes("postgres") }] : [];
    }),
  );
  return found.flat();
}

const textOf = (path: string): Promise<string> => readFile(path, "utf8").catch(() => "");

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // The process has ended meanwhile.
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) void removeRun(process.argv[2]!);
