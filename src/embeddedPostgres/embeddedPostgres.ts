import { readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { StartError } from "#src/startError.ts";
import { adminRole, createRoles, type Guard, ownerRole, serviceRole, takeGuard, urlOf } from "./guard.ts";
import { type Place, preparePlace } from "./place.ts";
import { initialise, launch, type Postmaster, readPostmaster, removeStaleSockets, stop } from "./postmaster.ts";
import { scheduleInBatches } from "./scheduling.ts";

/** A PostgreSQL server of the service's own. Its URLs stay as they are when it has to be started again. */
export type EmbeddedPostgres = {
  ownerUrl: string;
  serviceUrl: string;
  /** The superuser's, on the database `postgres`. */
  adminUrl: string;
  /** Where its data are: in DATA_DIR, or outside if its user cannot reach that. */
  directory: string;
  /** The process id of the postmaster that serves now. */
  pid(): number;
  /** Stops the server and waits for its end. */
  stop(): Promise<void>;
};

export type EmbeddedOptions = {
  dataDir: string;
  logger: Logger;
  /** Called when the server is gone (false) and when it has been started again (true). */
  onAvailable?: (available: boolean) => void;
  /**
   * For commands beside a running service: its server is used and left running. If none runs, one is started and stopped as usual.
   */
  beside?: boolean;
};

type Held = Postmaster & { guard: Guard };

/** How long a server may take to come up (recovery after a crash), or a killed one's processes to go away. */
const patienceMs = 60_000;
/** How long the previous holder of DATA_DIR may take to end before the start is refused. */
const handOverMs = 3_000;

/**
 * Starts the embedded PostgreSQL of `dataDir`, or takes over the one that a killed process left running, and starts it again
 * whenever it dies. Throws StartError with one sentence for every problem that a person can fix.
 */
export async function startEmbeddedPostgres({
  dataDir,
  logger,
  onAvailable,
  beside,
}: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const place = await inWords(dataDir, () => preparePlace(resolve(dataDir)));
  const shared = beside ? await untilReady(place) : undefined;
  if (shared) return describe(place, shared, async () => {});

  const held = await inWords(dataDir, () => hold(place, dataDir));
  logger.info(
    { directory: place.directory, user: place.runAs?.name, port: held.port, postmaster: held.pid },
    "embedded PostgreSQL runs",
  );
  await removeStaleSockets(place, held);
  await createRoles(held.guard, place);
  return describe(place, held, keepRunning(place, held, { dataDir, logger, onAvailable }));
}

const describe = (place: Place, server: Postmaster, stopServer: () => Promise<void>): EmbeddedPostgres => ({
  ownerUrl: urlOf(place, server, ownerRole),
  serviceUrl: urlOf(place, server, serviceRole),
  adminUrl: urlOf(place, server, adminRole),
  directory: place.directory,
  pid: () => server.pid,
  stop: stopServer,
});

/** Starts the server again whenever it dies; answers how to end that, and the server. `server` is updated in place. */
function keepRunning(
  place: Place,
  server: Held,
  { dataDir, logger, onAvailable = () => {} }: Omit<EmbeddedOptions, "beside">,
): () => Promise<void> {
  let stopping = false;
  let recovery: Promise<void> = Promise.resolve();

  async function recover(): Promise<void> {
    logger.error({ postmaster: server.pid }, "the embedded PostgreSQL has stopped, restarting it");
    onAvailable(false);
    while (!stopping) {
      try {
        Object.assign(server, await hold(place, dataDir, server.port));
        watch();
        logger.info({ postmaster: server.pid }, "the embedded PostgreSQL is running again");
        onAvailable(true);
        return;
      } catch (error) {
        logger.error({ err: error }, "cannot restart the embedded PostgreSQL yet, retrying");
        await sleep(1_000);
      }
    }
  }
  const watch = (): void => {
    server.guard.once("end", () => {
      if (!stopping) recovery = recover();
    });
  };
  watch();
  return async () => {
    stopping = true;
    await recovery;
    const running = await readPostmaster(place);
    if (running) await stop(place, running.pid);
    await server.guard.end().catch(() => {});
  };
}

/** Becomes the one keeper of the server of `place`, starting it if none runs. `port` is given if it has to be the one it had before. */
async function hold(place: Place, dataDir: string, port?: number): Promise<Held> {
  await requireSameMajor(place);
  const since = Date.now();
  let scheduled: number | undefined;
  for (; Date.now() - since < patienceMs; await sleep(20)) {
    const server = (await readPostmaster(place)) ?? (await launch(place, port ?? (await freePort())));
    if (typeof server === "string" || !server.ready) continue;
    // Not behind the guard, whose end tells that the server has died: nobody would hear it meanwhile.
    if (scheduled !== server.pid) await scheduleInBatches(server.pid);
    scheduled = server.pid;
    const guard = await takeGuard(place, server);
    if (guard === "away") continue;
    if (!("heldBy" in guard)) return { ...server, guard };
    if (Date.now() - since > handOverMs)
      throw new StartError(
        `Another service (${guard.heldBy}) is using DATA_DIR ${dataDir}: stop it, or set a different DATA_DIR for this one. To run several instances, share one server with DATABASE_URL.`,
      );
  }
  throw new StartError(
    `The embedded PostgreSQL in ${place.directory} did not start within ${patienceMs / 1000} s: see its log ${place.logFile}.`,
  );
}

async function untilReady(place: Place): Promise<Postmaster | undefined> {
  for (;;) {
    const server = await readPostmaster(place);
    if (!server || server.ready) return server;
    await sleep(20);
  }
}

async function requireSameMajor(place: Place): Promise<void> {
  const versionFile = join(place.pgdata, "PG_VERSION");
  const found = await readFile(versionFile, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
  });
  if (found === undefined) return initialise(place);
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

/** The file system's refusals about DATA_DIR as sentences. */
async function inWords<T>(dataDir: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { code, path = dataDir } = error as NodeJS.ErrnoException;
    if (code === "ENOSPC" || code === "EDQUOT")
      throw new StartError(`The disk is full, so ${path} cannot be written: free some space.`);
    if (code === "EACCES" || code === "EPERM" || code === "EROFS")
      throw new StartError(
        `${path} cannot be written: check its owner and permissions, or set DATA_DIR to a directory that you can write.`,
      );
    if (code === "ENOTDIR" || code === "EEXIST")
      throw new StartError(`DATA_DIR ${dataDir} is not a directory: set it to a directory.`);
    throw error;
  }
}
