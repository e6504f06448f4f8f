import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chown, constants, mkdtemp, open, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { StartError } from "#src/startError.ts";
import type { Place } from "./place.ts";

const run = promisify(execFile);

/** What postmaster.pid says of a server that lives. `socketIn`: the directory of its Unix socket, "" where it has none. `ready` once it takes connections. */
export type Postmaster = { pid: number; port: number; socketIn: string; ready: boolean };

/**
 * A small machine's server, on loopback alone. Durability stays as PostgreSQL has it: fsync and synchronous_commit are on.
 * Its log is for the operator: no statements and no row values, which hold mail.
 */
const settings = {
  // Read models begin empty, and plans made then go through a whole workspace for one draft until the tables have been counted.
  autovacuum_naptime: "10s",
  listen_addresses: "127.0.0.1",
  max_connections: "200",
  shared_buffers: "128MB",
  random_page_cost: "1.1",
  effective_cache_size: "512MB",
  jit: "off",
  wal_level: "minimal",
  max_wal_senders: "0",
  timezone: "UTC",
  log_timezone: "UTC",
  log_checkpoints: "off",
  log_min_messages: "log",
  log_min_error_statement: "panic",
  log_error_verbosity: "terse",
};

/** Makes the database cluster, all of it or nothing. */
export async function initialise(place: Place): Promise<void> {
  await discardUnfinished(place);
  const unfinished = await mkdtemp(`${place.pgdata}.new-`);
  const passwordFile = `${unfinished}.password`;
  await writeFile(passwordFile, place.passwordOf("postgres"), { mode: 0o600 });
  try {
    if (place.runAs) for (const path of [unfinished, passwordFile]) await chown(path, place.runAs.uid, place.runAs.gid);
    await run(
      join(place.binaries, "initdb"),
      [
        ...["--pgdata", unfinished, "--username", "postgres", "--pwfile", passwordFile, "--auth", "scram-sha-256"],
        ...["--encoding", "UTF8", "--locale", "C", "--locale-provider", "builtin", "--builtin-locale", "C.UTF-8"],
      ],
      asServer(place),
    );
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    throw startFailure(place, (error as { stderr?: string }).stderr || (error as Error).message);
  } finally {
    await rm(passwordFile, { force: true });
  }
  // Another process that did the same at the same moment, and was faster, has made the cluster.
  await rename(unfinished, place.pgdata).catch(() => rm(unfinished, { recursive: true, force: true }));
}

async function discardUnfinished({ directory }: Place): Promise<void> {
  for (const name of await readdir(directory)) {
    const path = join(directory, name);
    if (name.startsWith("pgdata.new-") && Date.now() - (await stat(path)).mtimeMs > 60_000)
      await rm(path, { recursive: true, force: true });
  }
}

/** The longest path of a Unix socket, in bytes, that every system takes. */
const maxSocketPath = 103;

/**
 * Its own data directory, which nobody else can look into. A statement over a Unix socket takes about a third less of both sides' CPU time
 * than over TCP. If the path is too long for a socket, TCP has to do.
 */
export function socketDirectory({ pgdata }: Pick<Place, "pgdata">): string {
  return process.platform !== "win32" && Buffer.byteLength(join(pgdata, socketName(65_535))) <= maxSocketPath
    ? pgdata
    : "";
}

const socketName = (port: number | ""): string => `.s.PGSQL.${port}`;

/**
 * Starts a server on `port` and waits until postmaster.pid is its own and says ready. "busy" if it gave up for a reason that
 * passes: another one was quicker, or processes of a killed one still hold its memory.
 */
export async function launch(place: Place, port: number): Promise<Postmaster | "busy" | "port taken"> {
  await disarmForeignLocks(place, port);
  const log = await open(place.logFile, "w", 0o600);
  const all = { ...settings, unix_socket_directories: socketDirectory(place) };
  const options = Object.entries(all).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  // In a session of its own: a Ctrl-C is for the service, which stops its server when nothing needs it any more.
  const child = spawn(join(place.binaries, "postgres"), ["-D", place.pgdata, "-p", String(port), ...options], {
    ...asServer(place),
    detached: true,
    stdio: ["ignore", log.fd, log.fd],
  });
  const ended = once(child, "exit").catch((error: Error) => error);
  try {
    for (;;) {
      const running = await readPostmaster(place);
      if (running?.ready && running.pid === child.pid) return running;
      const gone = await Promise.race([ended, sleep(10)]);
      if (gone instanceof Error) throw new StartError(`The embedded PostgreSQL cannot be started: ${gone.message}.`);
      if (gone) return whyEnded(place);
    }
  } finally {
    child.unref();
    await log.close();
  }
}

async function whyEnded(place: Place): Promise<"busy" | "port taken"> {
  const said = await readFile(place.logFile, "utf8");
  if (/could not bind|could not create any TCP\/IP sockets/.test(said)) return "port taken";
  if (/lock file .* already exists|is still in use/.test(said)) return "busy";
  throw startFailure(place, said);
}

/** Reads who serves `place` now; undefined if nobody does, whatever a killed one left behind. */
export async function readPostmaster(place: Place): Promise<Postmaster | undefined> {
  const lines = (await readLock(place)).split("\n");
  const pid = Number(lines[0]);
  if (!(pid > 0) || !(await isServerOf(place, pid))) return undefined;
  return { pid, port: Number(lines[3]), socketIn: lines[4]?.trim() ?? "", ready: lines[7]?.trim() === "ready" };
}

/** Removes what killed servers on other ports left beside the socket of the one that runs. For its keeper alone. */
export async function removeStaleSockets({ pgdata }: Place, { port }: Postmaster): Promise<void> {
  const stale = (await readdir(pgdata)).filter(
    (name) => name.startsWith(socketName("")) && name.replace(/\.lock$/, "") !== socketName(port),
  );
  for (const name of stale) await rm(join(pgdata, name), { force: true });
}

/** Stops a server: what clients are doing is rolled back, everything committed is on disk, nothing is left running. */
export async function stop(place: Place, pid: number): Promise<void> {
  // Fast shutdown; then immediate shutdown, from which the next start recovers; then by force.
  for (const [signal, seconds] of [["SIGINT", 15] as const, ["SIGQUIT", 5] as const, ["SIGKILL", 5] as const]) {
    try {
      process.kill(pid, signal);
    } catch {
      return;
    }
    for (const end = Date.now() + seconds * 1000; Date.now() < end; await sleep(10)) {
      if (!(await isServerOf(place, pid))) return;
    }
  }
}

const asServer = ({ runAs, directory }: Place) => ({
  ...(runAs && { uid: runAs.uid, gid: runAs.gid }),
  cwd: directory,
  // Not our environment: it holds secrets, and PG… variables would change what the server does.
  env: { LC_ALL: "C", TZ: "UTC" },
});

const lockFile = (place: Place): string => join(place.pgdata, "postmaster.pid");
const readLock = (place: Place, file = lockFile(place)): Promise<string> => readFile(file, "utf8").catch(() => "");

/** Never through a symbolic link: as root we write into a folder of the server's user. */
const overwrite = constants.O_WRONLY | constants.O_TRUNC | constants.O_NOFOLLOW;

/**
 * A process id is used again after a restart of the machine, and PostgreSQL refuses to start over a lock that names a living process.
 * Our own id in its place makes it look further: it still checks that no process of the old server holds its memory.
 */
async function disarmForeignLocks(place: Place, port: number): Promise<void> {
  for (const file of [lockFile(place), join(place.pgdata, `${socketName(port)}.lock`)]) {
    const lock = await readLock(place, file);
    if (!lock || (await isServerOf(place, Number.parseInt(lock, 10)))) continue;
    await writeFile(file, lock.replace(/^\d+/, String(process.pid)), { flag: overwrite });
  }
}

/** Whether a process lives and is a postmaster on our data. */
async function isServerOf(place: Place, pid: number): Promise<boolean> {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EPERM") return false;
  }
  const command = await commandOf(pid);
  return command.includes("postgres") && command.includes(place.pgdata);
}

/** How a process was started; empty for one that has ended and was not yet collected. */
async function commandOf(pid: number): Promise<string> {
  if (process.platform === "linux") return readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
  const { stdout } = await run("ps", ["-o", "command=", "-p", String(pid)]).catch(() => ({ stdout: "" }));
  return stdout;
}

/** One sentence for what PostgreSQL's own words mean to the person who starts the service. */
function startFailure(place: Place, said: string): StartError {
  if (/No space left|Disk quota exceeded/i.test(said))
    return new StartError(
      `The disk of ${place.directory} is full, so the embedded PostgreSQL cannot start: free some space.`,
    );
  if (/Read-only file system|Permission denied/i.test(said))
    return new StartError(
      `The embedded PostgreSQL cannot write to ${place.directory}: check its owner and permissions, or set DATA_DIR.`,
    );
  if (/shared libraries/i.test(said))
    return new StartError(
      "The embedded PostgreSQL is incomplete: install again with install scripts allowed (npm install without --ignore-scripts).",
    );
  const reason = /(?:FATAL|PANIC|error):\s*(.+)/i.exec(said)?.[1] ?? said.trim().split("\n").at(-1);
  return new StartError(`The embedded PostgreSQL did not start: ${reason}. See its log ${place.logFile}.`);
}
