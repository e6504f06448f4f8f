import { rmSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { startEmbeddedPostgres } from "#src/embeddedPostgres/embeddedPostgres.ts";
import { preparePlace } from "#src/embeddedPostgres/place.ts";
import { launch, readPostmaster, stop } from "#src/embeddedPostgres/postmaster.ts";
import type { DatabaseUrls } from "#src/postgres/database.ts";
import { until } from "../support/client.ts";
import { copyCluster } from "../support/cluster.ts";

/** A PostgreSQL of its own, which nobody starts again when it is stopped. */
export type StoppableServer = {
  urls: DatabaseUrls;
  /** Fast, as an administrator does it: connections are cut off, what was committed is on disk. */
  stop(): Promise<void>;
  start(): Promise<void>;
  /** Stops it and removes its data. */
  close(): Promise<void>;
};

/** Starts one with an empty database. */
export async function startStoppableServer(): Promise<StoppableServer> {
  const dataDir = await mkdtemp(join(tmpdir(), "countersign-stoppable-"));
  const paths = [dataDir];
  let pid: number | undefined;
  // Where this process is told to end in the middle, or fails before anybody can close it.
  const onExit = (): void => {
    if (pid !== undefined) killAtOnce(pid);
    for (const path of paths) rmSync(path, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  };
  process.on("exit", onExit);
  await copyCluster(dataDir);
  // The first start makes roles and database, and chooses the port.
  const made = await startEmbeddedPostgres({ dataDir, logger: pino({ level: "silent" }) });
  const { ownerUrl, serviceUrl, directory } = made;
  paths.push(directory);
  await made.stop();
  const place = await preparePlace(dataDir);
  const port = Number(new URL(serviceUrl).port);

  const server = {
    urls: { ownerUrl, serviceUrl },
    async stop() {
      const running = await readPostmaster(place);
      if (running) await stop(place, running.pid);
      pid = undefined;
    },
    async start() {
      await launch(place, port);
      const running = await until("the server", async () => {
        const found = await readPostmaster(place);
        return found?.ready && found;
      });
      pid = running.pid;
    },
    async close() {
      await server.stop();
      process.off("exit", onExit);
      for (const path of paths) await rm(path, { recursive: true, force: true });
    },
  };
  await server.start();
  return server;
}

/** It takes its children along, and frees its shared memory. */
function killAtOnce(postmaster: number): void {
  try {
    process.kill(postmaster, "SIGQUIT");
  } catch {
    // It has ended.
  }
}
