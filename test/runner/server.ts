import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { startEmbeddedPostgres } from "#src/platform/embeddedPostgres/embeddedPostgres.ts";
import { createLogger } from "#src/platform/logger.ts";
import { copyCluster, makeCluster } from "../../scripts/support/cluster.ts";

/** Settings of the server: its data need not survive the machine, only its own crashes, so it waits for no disk. */
const settings = ["fsync = off", "full_page_writes = off", "max_wal_size = '128MB'"];
/**
 * Rules of pg_hba.conf: a connection over the Unix socket, which lies in a directory of the server's user, needs no password. Tests open thousands of
 * connections, and a password costs both sides some 5 ms each time.
 */
const mayConnect = "local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n";

/**
 * Opens the PostgreSQL server that all tests of a run share: the one of TEST_DATABASE_ADMIN_URL (a superuser's), or else one that is started here and
 * whose URL becomes TEST_DATABASE_ADMIN_URL. Returns a function that stops the server, or removes the run's databases from a server that stays.
 */
export async function openServer(directory: string): Promise<() => Promise<void>> {
  const made = join(directory, "cluster");
  process.env.TEST_CLUSTER ||= (await makeCluster(made)) ? made : "";
  if (process.env.TEST_DATABASE_ADMIN_URL) return dropDatabases;
  const dataDir = join(directory, "server");
  await copyCluster(dataDir);
  const server = await startEmbeddedPostgres({ dataDir, logger: createLogger("warn") });
  process.env.TEST_DATABASE_ADMIN_URL = server.adminUrl;
  for (const setting of settings) await asAdmin(`alter system set ${setting}`);
  await writeFile((await asAdmin("show hba_file"))[0].hba_file, mayConnect);
  await asAdmin("select pg_reload_conf()");
  return () => server.stop();
}

export function adminUrl(): string {
  const url = process.env.TEST_DATABASE_ADMIN_URL;
  if (!url) throw new Error("TEST_DATABASE_ADMIN_URL is not set: run the tests by `npm test` or `npx mocha`");
  return url;
}

export async function asAdmin(sql: string): Promise<any[]> {
  const client = new pg.Client({ connectionString: adminUrl() });
  await client.connect();
  const { rows } = await client.query(sql).finally(() => client.end());
  return rows;
}

/** The beginning of the names of all databases and roles that this run makes on its server. */
export const namesOfRun = (): string => `test_${(process.env.TEST_RUN_DIRECTORY ?? "").slice(-6).toLowerCase()}_`;

/** Removes the databases that tests copied theirs from, their roles, and whatever a test has left. */
async function dropDatabases(): Promise<void> {
  const begins = `'${namesOfRun()}'`;
  const statements = await asAdmin(
    `select format('drop database %I with (force)', datname) as sql from pg_database where starts_with(datname, ${begins})
     union all select format('drop role %I', rolname) from pg_roles where starts_with(rolname, ${begins})`,
  );
  for (const { sql } of statements) await asAdmin(sql);
}
