import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createPostgresEventStore } from "#src/eventStore/postgres/store.ts";
import { createLogger } from "#src/logger.ts";
import { connectDatabase, type Database, type DatabaseUrls } from "#src/postgres/database.ts";
import { catchUp } from "../support/catchUp.ts";
import { type Client, createClient } from "../support/client.ts";
import { type Instance, startInstance } from "../support/instance.ts";
import { type MadeLog, makeScaleLog } from "../support/scaleLog.ts";
import { figure, progress, progressDone } from "./measure.ts";
import type { BenchServer } from "./server.ts";

/** A workspace with a year of mail, and the API of a service on it. */
export type Scaled = {
  instance: Instance;
  client: Client;
  urls: DatabaseUrls;
  database: Database;
  workspaceId: string;
  identityIds: string[];
  made: MadeLog;
  /** Events a second into all read models from nothing, by their own runner. */
  rate: number;
};

export async function startScaled(server: BenchServer, threads: number): Promise<Scaled> {
  const urls = await server.database({ migrated: false });
  const dataDir = await mkdtemp(join(tmpdir(), "countersign-bench-"));
  // Counted, as in service, and never reached.
  const limits = { RATE_LIMIT_READ: "1000000", RATE_LIMIT_CONSOLE: "1000000" };
  const settings = { DATA_DIR: dataDir, DATABASE_URL: urls.serviceUrl, DATABASE_OWNER_URL: urls.ownerUrl };
  const first = await startInstance({ ...settings, LOG_LEVEL: "info" });
  const client = createClient({ ...first, apiKey: first.apiKey! });
  const identities = [await client.identity(), await client.identity(), await client.identity()];
  const { id: workspaceId } = await client.ask("GET /v1/workspaces/me");
  await first.stop();

  const database = connectDatabase(urls);
  const made = await makeScaleLog({
    ...{ owner: database.owner, workspaceId, identities, threads },
    onProgress: (events, messages) => progress(`making a log: ${messages} messages, ${events} events`),
  });
  const store = createPostgresEventStore({ connectionString: urls.serviceUrl });
  let saidAt = 0;
  const seconds = await catchUp({ store, database, logger: createLogger("warn") }, (position) => {
    if (performance.now() - saidAt < 2_000) return;
    saidAt = performance.now();
    progress(`read models at ${position} of ${made.events}`);
  });
  await store.close();
  progress("vacuum");
  await server.admin(`alter database ${new URL(urls.ownerUrl).pathname.slice(1)} set jit = off`).catch(() => []);
  await database.owner.query("vacuum analyze");
  progressDone();
  console.log(
    `  ${figure(made.messages)} messages in ${figure(threads)} threads, ${figure(made.drafts)} drafts: ${figure(made.events)} events`,
  );
  // The API alone: nothing is to be done about mail that never was.
  const instance = await startInstance({ ...settings, ...limits, LOG_LEVEL: "info", ROLES: "api" });
  server.beforeEnd(async () => {
    await database.close();
    await instance.stop();
    await rm(dataDir, { recursive: true, force: true });
  });
  return {
    ...{ instance, urls, database, workspaceId, made, rate: made.events / seconds },
    client: createClient({ ...instance, apiKey: first.apiKey! }),
    identityIds: identities.map(({ id }) => id),
  };
}
