import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { prepareDirectories } from "#src/platform/embeddedPostgres/directories.ts";
import { startEmbeddedPostgres } from "#src/platform/embeddedPostgres/embeddedPostgres.ts";
import { launch, readPostmaster, stop } from "#src/platform/embeddedPostgres/postmaster.ts";
import type { DatabaseUrls } from "#src/platform/postgres/database.ts";
import { until } from "../../scripts/support/client.ts";
import { copyCluster } from "../../scripts/support/cluster.ts";

/** A PostgreSQL server that stays stopped until it is started. */
export type StoppableServer = {
  urls: DatabaseUrls & { adminUrl: string };
  /** The postmaster's process id. */
  pid(): Promise<number>;
  /** Stops it as an administrator does: connections are cut off, committed data are on disk. */
  stop(): Promise<void>;
  start(): Promise<void>;
  /** Stops it and removes its data. */
  close(): Promise<void>;
};

/** Starts a PostgreSQL server that can be stopped, with an empty database or on the data of `dataDir`. */
export async function startStoppableServer(dataDir?: string): Promise<StoppableServer> {
  const data = dataDir ?? (await mkdtemp(join(tmpdir(), "countersign-stoppable-")));
  await copyCluster(data);
  // The first start creates the roles and the database, and chooses the port.
  const { stop: end, ...urls } = await startEmbeddedPostgres({ dataDir: data, logger: pino({ level: "silent" }) });
  await end();
  const place = await prepareDirectories(data);
  const server = {
    urls,
    pid: async () => (await readPostmaster(place))!.pid,
    async stop() {
      const running = await readPostmaster(place);
      if (running) await stop(place, running.pid);
    },
    async start() {
      await launch(place, Number(new URL(urls.serviceUrl).port));
      await until("the server", async () => (await readPostmaster(place))?.ready);
    },
    async close() {
      await server.stop();
      for (const path of [data, place.directory]) await rm(path, { recursive: true, force: true });
    },
  };
  await server.start();
  return server;
}
