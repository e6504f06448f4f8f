import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, readdir, statfs } from "node:fs/promises";
import { connect, createServer, type Socket } from "node:net";
import { availableParallelism, freemem, tmpdir } from "node:os";
import { join } from "node:path";
import { projectRoot } from "./childProcess.ts";
import { removeRun, runPrefix } from "./removeRun.ts";

/** The in-memory file system of Linux, if there is one. */
const memory = "/dev/shm";
/**
 * Maximum number of bytes on disk that each test process needs: its databases, and the servers of the services that it starts, with their
 * logs.
 */
const bytesOfWorker = 1.5 * 2 ** 30;

/**
 * Makes the directory for all files of a run of the tests or of the soak. When this process ends, even by SIGKILL, all processes of the
 * run are ended and the directory is removed. Directories of dead runs are removed first.
 *
 * In memory if there is ample room: copying a database there takes a tenth of the time (20 ms of CPU instead of 200), and no test needs
 * its data to survive the machine; `onDisk` for data larger than memory. TMPDIR, if set, takes precedence.
 */
export async function makeRunDirectory({ onDisk = false } = {}): Promise<string> {
  for (const folder of process.env.TMPDIR ? [process.env.TMPDIR] : [memory, tmpdir()]) await removeDeadRuns(folder);
  const inMemory = process.env.TMPDIR || onDisk ? undefined : await roomInMemory();
  const directory = await mkdtemp(join(inMemory ?? tmpdir(), runPrefix));
  // If root runs this, PostgreSQL runs as another user, with its data below.
  await chmod(directory, 0o755);
  await listen(directory);
  removeWhenGone(directory);
  return directory;
}

async function roomInMemory(): Promise<string | undefined> {
  const { bavail, bsize } = await statfs(memory).catch(() => ({ bavail: 0, bsize: 0 }));
  return Math.min(bavail * bsize, freemem()) > bytesOfWorker * (availableParallelism() + 1) ? memory : undefined;
}

/**
 * Starts a shell that waits for the end of its input, which is the end of this process, and then runs removeRun.ts. In its own session,
 * so that no Ctrl-C ends it.
 */
function removeWhenGone(directory: string): void {
  const remove = [process.execPath, "--import", "tsx", "scripts/support/removeRun.ts", directory];
  const shell = spawn("sh", ["-c", 'cat; exec "$@"', "sh", ...remove], {
    cwd: projectRoot,
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  shell.unref();
  (shell.stdin as Socket).unref();
}

const socketIn = (directory: string): string => join(directory, "alive");

/**
 * Listens on a socket in the directory while this process lives, which shows other runs that it does. If the path is too long for a
 * socket, the directory never counts as dead.
 */
async function listen(directory: string): Promise<void> {
  const server = createServer((socket) => socket.destroy()).unref();
  await once(server.listen(socketIn(directory)), "listening").catch(() => {});
}

/**
 * Removes directories of runs whose process was killed together with the shell that should have removed them. A directory without a
 * socket stays, and so does another user's. Never fails.
 */
async function removeDeadRuns(folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names.filter((each) => each.startsWith(runPrefix))) {
    const directory = join(folder, name);
    if (await isDead(directory)) await removeRun(directory).catch(() => {});
  }
}

async function isDead(directory: string): Promise<boolean> {
  const socket = connect(socketIn(directory));
  try {
    await once(socket, "connect");
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ECONNREFUSED";
  } finally {
    socket.destroy();
  }
}
