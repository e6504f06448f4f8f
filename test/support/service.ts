import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DatabaseUrls } from "#src/platform/postgres/database.ts";
import { copyCluster } from "../../scripts/support/cluster.ts";
import { type ServiceProcess, startProcess } from "../../scripts/support/serviceProcess.ts";
import { createTestDatabase } from "./postgres.ts";

/** The real service in its own process, with everything made for it. */
export type TestService = ServiceProcess & { dataDir: string };

export type ServiceOptions = {
  /** Settings besides those set here: ports, DATA_DIR, DATABASE_URL. An empty value unsets one. */
  env?: Record<string, string>;
  /** A database that the caller keeps; "embedded" lets the service start its own. Default: a new test database. */
  database?: DatabaseUrls | "embedded";
  /** A directory that the caller keeps. Default: a new temporary one. */
  dataDir?: string;
};

/**
 * Starts the service and waits until it is ready. Rejects with its output if it ends before that. Its `stop` removes everything made for
 * it.
 */
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
    // Runs in another directory, so that no `.env` is read.
    cwd: tmpdir(),
    inherited: { PATH: process.env.PATH },
    env: {
      // The service ends with the test process, however that ends.
      npm_lifecycle_event: "test",
      LOG_LEVEL: "info",
      DATA_DIR: dataDir,
      // An address without a DNS server, so that no test queries an outside host.
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
