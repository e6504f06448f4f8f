import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chown, mkdtemp, open, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { StartError } from "#src/platform/startError.ts";
import type { ServerDirectories } from "./directories.ts";
import { scheduleInBatches } from "./scheduling.ts";

const run = promisify(execFile);

/**
 * A running server, as postmaster.pid describes it. `socketIn`: the directory of its Unix socket, "" if it has none. `ready`: it takes connections.
 * `keptBy`: the process that started it, undefined if that has ended.
 */
export type Postmaster = { pid: number; port: number; socketIn: string; ready: boolean; keptBy: number | undefined };

/** A server that this process started. `ended` resolves at its end. */
export type Launched = Postmaster & { ended: Promise<unknown> };

/**
 * Settings for a small machine, listening on loopback only. Durability keeps PostgreSQL's defaults: fsync and synchronous_commit are on.
 * The log is for the operator: no statements and no row values, which contain mail.
 */
const settings = {
  // Read models begin empty, and query plans made before the tables are analysed scan a whole workspace for one draft.
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

/** Creates the database cluster atomically. */
export async function initialise(place: ServerDirectories, signal?: AbortSignal): Promise<void> {
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
      { ...asServer(place), signal },
    );
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    throw startFailure(place, (error as { stderr?: string }).stderr || (error as Error).message);
  } finally {
    await rm(passwordFile, { force: true });
  }
  // A concurrent process that was faster has created the cluster.
  await rename(unfinished, place.pgdata).catch(() => rm(unfinished, { recursive: true, force: true }));
}

async function discardUnfinished({ directory }: ServerDirectories): Promise<void> {
  for (const name of await readdir(directory)) {
    const path = join(directory, name);
    if (name.startsWith("pgdata.new-") && Date.now() - (await stat(path)).mtimeMs > 60_000)
      await rm(path, { recursive: true, force: true });
  }
}

/** The longest path of a Unix socket, in bytes, that every system takes. */
const maxSocketPath = 103;

/**
 * Returns the directory of the Unix socket: the data directory, which only its owner can access. A statement over a Unix socket takes about
 * a third less CPU time on both sides than over TCP. "" if the path is too long for a socket; then TCP is used.
 */
export function socketDirectory({ pgdata }: Pick<ServerDirectories, "pgdata">): string {
  return process.platform !== "win32" && Buffer.byteLength(join(pgdata, socketName(65_535))) <= maxSocketPath
    ? pgdata
    : "";
}

const socketName = (port: number | ""): string => `.s.PGSQL.${port}`;

/** Starts a server on `port` and waits until it is ready. Undefined if it ended for a transient reason. `ending` aborts the start. */
export async function launch(
  place: ServerDirectories,
  port: number,
  ending?: AbortSignal,
): Promise<Launched | undefined> {
  await removeForeignLock(place);
  const log = await open(place.logFile, "w", 0o600);
  const all = { ...settings, unix_socket_directories: socketDirectory(place), [keeper]: String(process.pid) };
  const options = Object.entries(all).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  // In a separate session: a Ctrl-C is for the service, which stops its server when nothing needs it any more.
  const child = spawn(join(place.binaries, "postgres"), ["-D", place.pgdata, "-p", String(port), ...options], {
    ...asServer(place),
    detached: true,
    stdio: ["ignore", log.fd, log.fd],
  });
  const ended = once(child, "exit").catch((error: Error) => error);
  try {
    for (;;) {
      // Immediate shutdown: the next start recovers.
      if (ending?.aborted) child.kill("SIGQUIT");
      const running = await readPostmaster(place);
      if (running?.ready && running.pid === child.pid) {
        await Promise.all([removeStaleSockets(place, port), scheduleInBatches(running.pid)]);
        return { ...running, ended };
      }
      const gone = await Promise.race([ended, sleep(10)]);
      if (gone instanceof Error) throw new StartError(`The embedded PostgreSQL cannot be started: ${gone.message}.`);
      if (gone) return void (await requirePassing(place));
    }
  } finally {
    child.unref();
    await log.close();
  }
}

/**
 * Throws PostgreSQL's error as a sentence, unless the cause is transient: another server uses the port or the data, or processes of a
 * killed one still run.
 */
async function requirePassing(place: ServerDirectories): Promise<void> {
  const said = await readFile(place.logFile, "utf8");
  if (!/could not bind|could not create any TCP|lock file .* already exists|is still in use/.test(said))
    throw startFailure(place, said);
}

/** Returns the server that runs on `place`; undefined if none runs there, even if a killed server left its files. */
export async function readPostmaster(place: ServerDirectories): Promise<Postmaster | undefined> {
  const lines = (await readLock(place)).split("\n");
  const pid = Number(lines[0]);
  if (!(pid > 0) || !(await isServerOf(place, pid))) return undefined;
  const [port, socketIn, ready] = [Number(lines[3]), lines[4]?.trim() ?? "", lines[7]?.trim() === "ready"];
  return { pid, port, socketIn, ready, keptBy: await keeperOf(pid) };
}

/** Removes the sockets that killed servers left on other ports. */
async function removeStaleSockets({ pgdata }: ServerDirectories, port: number): Promise<void> {
  const isStale = (name: string) => name.startsWith(socketName("")) && name.replace(/\.lock$/, "") !== socketName(port);
  for (const name of (await readdir(pgdata)).filter(isStale)) await rm(join(pgdata, name), { force: true });
}

/** Stops a server: open transactions are rolled back, everything committed is on disk, no process is left. */
export async function stop(place: ServerDirectories, pid: number): Promise<void> {
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

const asServer = ({ runAs, directory }: ServerDirectories) => ({
  ...(runAs && { uid: runAs.uid, gid: runAs.gid }),
  cwd: directory,
  // Our environment is not passed on: it contains secrets, and PG… variables would change the server's behaviour.
  env: { LC_ALL: "C", TZ: "UTC" },
});

const lockFile = (place: ServerDirectories): string => join(place.pgdata, "postmaster.pid");
const readLock = (place: ServerDirectories): Promise<string> => readFile(lockFile(place), "utf8").catch(() => "");

/**
 * Removes a lock file whose process id now belongs to another process, as after a restart of the machine: PostgreSQL refuses to start over
 * a lock that names a live process. Without the lock it still checks that no process of the old server uses its shared memory.
 */
async function removeForeignLock(place: ServerDirectories): Promise<void> {
  const pid = Number.parseInt(await readLock(place), 10);
  if (isAlive(pid) && !(await isServerOf(place, pid))) await rm(lockFile(place), { force: true });
}

/** A parameter without meaning for PostgreSQL: the process that started the server. */
const keeper = "countersign.keeper";

/** Returns the process that started the server, if it still runs: a process whose parent has ended gets another parent. */
async function keeperOf(pid: number): Promise<number | undefined> {
  const { parent, command } = await processOf(pid);
  return new RegExp(`${keeper}=${parent}\\b`).test(command) ? parent : undefined;
}

function isAlive(pid: number): boolean {
  try {
    return pid > 0 && process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** True if the process is alive and a postmaster of our data directory. */
async function isServerOf(place: ServerDirectories, pid: number): Promise<boolean> {
  const { command } = isAlive(pid) ? await processOf(pid) : nowhere;
  return command.includes("postgres") && command.includes(place.pgdata);
}

const nowhere = { parent: 0, command: "" };

/** Returns the parent of a process and the command that started it; the command is empty if the process has ended. */
async function processOf(pid: number): Promise<{ parent: number; command: string }> {
  try {
    if (process.platform !== "linux") {
      const { stdout } = await run("ps", ["-o", "ppid=,command=", "-p", String(pid)]);
      return { parent: Number.parseInt(stdout, 10), command: stdout.trim() };
    }
    const [stat, command] = await Promise.all(
      ["stat", "cmdline"].map((name) => readFile(`/proc/${pid}/${name}`, "utf8")),
    );
    // The process's name, in parentheses, may contain any characters.
    return { parent: Number(stat!.slice(stat!.lastIndexOf(")")).split(" ")[2]), command: command! };
  } catch {
    return nowhere;
  }
}

function startFailure({ logFile }: ServerDirectories, said: string): StartError {
  const reason = /(?:FATAL|PANIC|error):\s*(.+)/i.exec(said)?.[1] ?? said.trim().split("\n").at(-1);
  return new StartError(`The embedded PostgreSQL did not start: ${reason}. See its log ${logFile}.`);
}
