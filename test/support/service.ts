import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DatabaseUrls } from "#src/platform/postgres/database.ts";
import { copyCluster } from "../../scripts/support/cluster.ts";
import { type ServiceProcess, startProcess } from "../../scripts/support/serviceProcess.ts";
import { createTestDatabase } from "./postgres.ts";

/** The real service in a process of its own, with what was made for it. */
export type TestService = ServiceProcess & { dataDir: string };

export type ServiceOptions = {
  /** Settings beside those that this sets: ports, DATA_DIR, DATABASE_URL. An empty one unsets. */
  env?: Record<string, string>;
  /** A database that stays the caller's; "embedded" lets the service start its own. Default: a new test database. */
  database?: DatabaseUrls | "embedded";
  /** A directory that stays the caller's. Default: a new temporary one. */
  dataDir?: string;
};

/** Starts the service and waits until it is ready. Rejects with what it wrote if it ends before that. Its stop removes what this made for it. */
export async function startService(options: ServiceOptions = {}): Promise<TestService> {
  const ownDatabase = options.database ? undefined : await createTestDatabase({ readModels: true });
  const database = options.database === "embedded" ? undefined : (options.database ?? ownDatabase);
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), "countersign-service-")));
  if (options.database === "embedded") await copyCluster(dataDir);
  const removeOwn = async (): Promise<void> => {
    await ownDatabase?.drop();
    if (!options.dataDir) await rm(dataDir, { recursive: true, force: true });
  };
  const service = await startProcess({
    // Elsewhere, so that no `.env` is read.
    cwd: tmpdir(),
    inherited: { PATH: process.env.PATH },
    env: {
      // Ends with the tests, whatever becomes of them.
      npm_lifecycle_event: "test",
      LOG_LEVEL: "info",
      DATA_DIR: dataDir,
      // No server answers there: no test asks an outside host.
      DNS_SERVERS: "127.0.0.1:9",
      TELEGRAM_API_ROOT: "http://127.0.0.1:9",
      ...(database && { DATABASE_URL: database.serviceUrl, DATABASE_OWNER_URL: database.ownerUrl }),
      ...options.env,
    },
  }).catch(async (error) => {
    await removeOwn();
    throw error;
  });
  return {
    ...service,
    dataDir,
    async stop() {
      await service.stop();
      await removeOwn();
    },
  };
}
