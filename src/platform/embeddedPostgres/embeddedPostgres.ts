import { readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { StartError } from "#src/platform/startError.ts";
import { prepareDirectories, type ServerDirectories } from "./directories.ts";
import { initialise, type Launched, launch, type Postmaster, readPostmaster, stop } from "./postmaster.ts";
import { adminRole, createRoles, ownerRole, serviceRole, urlOf } from "./roles.ts";

/** A PostgreSQL server that belongs to the service. Its URLs stay the same when it is restarted. */
export type EmbeddedPostgres = {
  ownerUrl: string;
  serviceUrl: string;
  /** URL of the superuser, on the database `postgres`. */
  adminUrl: string;
  /** Data directory: in DATA_DIR, or outside if the server's user cannot access that. */
  directory: string;
  /** Returns the process id of the current postmaster. */
  pid(): number;
  /** Stops the server and waits for its end. */
  stop(): Promise<void>;
};

export type EmbeddedOptions = {
  dataDir: string;
  logger: Logger;
  /**
   * For commands that may run next to a running service: its server is used and left running. If none runs, one is started and stopped as
   * usual.
   */
  beside?: boolean;
  /** Aborts a start in progress and stops everything it has started. */
  ending?: AbortSignal;
};

/** Milliseconds within which a server must be ready (after a crash it recovers first), and processes of a killed one must end. */
const patienceMs = 60_000;
/** Milliseconds within which another service must end and stop its server; after that the start is refused. */
const handOverMs = 3_000;

/**
 * Starts the embedded PostgreSQL of `dataDir`, and restarts it whenever it dies. Stops a server that a killed service left running first.
 * Throws StartError with one sentence for every problem that a person can fix.
 */
export async function startEmbeddedPostgres({
  dataDir,
  logger,
  beside,
  ending = new AbortController().signal,
}: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const place = await inWords(dataDir, () => prepareDirectories(resolve(dataDir)));
  const shared = beside ? await untilReady(place) : undefined;
  if (shared) return describe(place, shared, async () => {});

  if (beside && !(await hasData(place)))
    logger.warn({ directory: place.directory }, "DATA_DIR has no database: a new, empty one is made");
  const own = { place, dataDir, logger };
  const server = await inWords(dataDir, () => launchAlone(own, { ending }));
  logger.info(
    { directory: place.directory, user: place.runAs?.name, port: server.port, postmaster: server.pid },
    "embedded PostgreSQL runs",
  );
  const stopServer = keepRunning(own, server);
  await createRoles(place, server).catch(async (error) => {
    await stopServer();
    throw error;
  });
  return describe(place, server, stopServer);
}

type KeptServer = { place: ServerDirectories; dataDir: string; logger: Logger };

const describe = (place: ServerDirectories, server: Postmaster, stopServer: () => Promise<void>): EmbeddedPostgres => ({
  ownerUrl: urlOf(place, server, ownerRole),
  serviceUrl: urlOf(place, server, serviceRole),
  adminUrl: urlOf(place, server, adminRole),
  directory: place.directory,
  pid: () => server.pid,
  stop: stopServer,
});

/** Restarts the server whenever it dies, updating `server` in place. Returns a function that stops the restarts and the server. */
function keepRunning(own: KeptServer, server: Launched): () => Promise<void> {
  const { place, logger } = own;
  const stopping = new AbortController();
  const ending = stopping.signal;
  let recovery: Promise<void> = Promise.resolve();

  async function recover(): Promise<void> {
    logger.error({ postmaster: server.pid }, "the embedded PostgreSQL has stopped, restarting it");
    while (!ending.aborted) {
      try {
        Object.assign(server, await launchAlone(own, { ending, port: server.port }));
        watch();
        logger.info({ postmaster: server.pid }, "the embedded PostgreSQL is running again");
        return;
      } catch (error) {
        if (ending.aborted) return;
        logger.error({ err: error }, "cannot restart the embedded PostgreSQL yet, retrying");
        await sleep(1_000, undefined, { signal: ending }).catch(() => {});
      }
    }
  }
  function watch(): void {
    void server.ended.then(() => {
      if (!ending.aborted) recovery = recover();
    });
  }
  watch();
  return async () => {
    stopping.abort();
    await recovery;
    const running = await readPostmaster(place);
    // The server may belong to another service by now.
    if (running?.keptBy === process.pid) await stop(place, running.pid);
  };
}

/** Starts the server once no other uses its data. `port`: set if it must be the previous one. */
async function launchAlone(
  { place, dataDir, logger }: KeptServer,
  { ending, port }: { ending: AbortSignal; port?: number },
): Promise<Launched> {
  await requireSameMajor(place, ending);
  const since = Date.now();
  for (; Date.now() - since < patienceMs; await sleep(20)) {
    ending.throwIfAborted();
    const other = await readPostmaster(place);
    if (other?.keptBy !== undefined) {
      if (Date.now() - since < handOverMs) continue;
      throw new StartError(
        `Another service (process ${other.keptBy}) is using DATA_DIR ${dataDir}: stop it, or set a different DATA_DIR for this one. To run several instances, share one server with DATABASE_URL.`,
      );
    }
    if (other) {
      logger.warn({ postmaster: other.pid }, "a killed service left its PostgreSQL running, stopping it");
      await stop(place, other.pid);
    }
    const launched = await launch(place, port ?? (await freePort()), ending);
    if (launched) return launched;
  }
  throw new StartError(
    `The embedded PostgreSQL in ${place.directory} did not start within ${patienceMs / 1000} s: see its log ${place.logFile}.`,
  );
}

async function untilReady(place: ServerDirectories): Promise<Postmaster | undefined> {
  for (;;) {
    const server = await readPostmaster(place);
    if (!server || server.ready) return server;
    await sleep(20);
  }
}

/** Returns the major version that made the data; undefined if there are none. */
const dataVersion = ({ pgdata }: ServerDirectories): Promise<string | undefined> =>
  readFile(join(pgdata, "PG_VERSION"), "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
    return undefined;
  });

const hasData = async (place: ServerDirectories): Promise<boolean> => (await dataVersion(place)) !== undefined;

async function requireSameMajor(place: ServerDirectories, ending: AbortSignal): Promise<void> {
  const found = await dataVersion(place);
  if (found === undefined) return initialise(place, ending);
  if (found.trim() !== place.major)
    throw new StartError(
      `${place.pgdata} was made by PostgreSQL ${found.trim()}, but this service uses PostgreSQL ${place.major}: migrate the data with pg_upgrade or a dump, or set DATA_DIR to a new directory.`,
    );
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((listening, failed) => server.once("error", failed).listen(0, "127.0.0.1", listening));
  const { port } = server.address() as { port: number };
  await new Promise((closed) => server.close(closed));
  return port;
}

/** Runs `work`; turns a file system error into a sentence about DATA_DIR. */
async function inWords<T>(dataDir: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { code, path = dataDir, syscall } = error as NodeJS.ErrnoException;
    if (code === "ENOTDIR" || code === "EEXIST")
      throw new StartError(`DATA_DIR ${dataDir} is not a directory: set it to a directory.`);
    if (!syscall) throw error;
    throw new StartError(
      `${path} cannot be written (${code}): check its disk, owner and permissions, or set DATA_DIR to a directory that you can write.`,
    );
  }
}
