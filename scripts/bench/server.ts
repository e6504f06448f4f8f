import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import type { Logger } from "pino";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "#src/embeddedPostgres/embeddedPostgres.ts";
import type { DatabaseUrls } from "#src/postgres/database.ts";
import { prepareDatabase } from "#src/postgres/prepare.ts";
import { type BenchEventStore, openEventStore } from "./eventStore.ts";
import { asAdmin, statementSettings } from "./statements.ts";

/** A PostgreSQL of this run alone, with the settings the embedded one has in service, gone afterwards. */
export type BenchServer = {
  /** A new database, empty or with the service's schemas. */
  database(options?: { migrated: boolean }): Promise<DatabaseUrls>;
  /** As the superuser. */
  admin(sql: string): Promise<Record<string, unknown>[]>;
  /** Of the postmaster. */
  pid(): number;
  /** Where the service has its log; absent: in this PostgreSQL. */
  eventStore?: BenchEventStore;
  /** A folder for CPU profiles of the service. */
  profileInto?: string;
  /** Where the server counts the time of each statement: a superuser's URL. */
  statementsAt?: string;
  /** Work to be done before the server stops, unless it was done early. */
  beforeEnd(work: () => Promise<void>): void;
  endEarly(work: () => Promise<void>): Promise<void>;
  stop(): Promise<void>;
};

/** `eventStore`: where the service has its log if not in this PostgreSQL, `stand-in` or a URL. */
export async function startServer(
  logger: Logger,
  { eventStore, profileInto, statements }: { eventStore?: string; profileInto?: string; statements?: boolean } = {},
): Promise<BenchServer> {
  const directory = await mkdtemp(join(tmpdir(), "countersign-bench-"));
  const postgres = await startPostgres(join(directory, "data"), { logger, statements });
  const databaseOf = (url: string, name: string): string => Object.assign(new URL(url), { pathname: `/${name}` }).href;
  const owner = new URL(postgres.ownerUrl).username;
  const log = eventStore === undefined ? undefined : await openEventStore(eventStore);
  const ends = new Set<() => Promise<void>>();
  let made = 0;

  const admin = async (sql: string): Promise<Record<string, unknown>[]> =>
    asAdmin(postgres.adminUrl, async (client) => (await client.query(sql)).rows);

  async function endEarly(work: () => Promise<void>): Promise<void> {
    if (ends.delete(work)) await work();
  }

  return {
    admin,
    pid: postgres.pid,
    ...(log && { eventStore: log }),
    ...(profileInto !== undefined && { profileInto }),
    ...(statements && { statementsAt: postgres.adminUrl }),
    beforeEnd: (work) => void ends.add(work),
    endEarly,
    async database({ migrated } = { migrated: true }) {
      const name = `bench_${++made}`;
      await admin(`create database ${name} owner ${pg.escapeIdentifier(owner)}`);
      const urls = {
        ownerUrl: databaseOf(postgres.ownerUrl, name),
        serviceUrl: databaseOf(postgres.serviceUrl, name),
      };
      if (migrated) await prepareDatabase(urls);
      return urls;
    },
    async stop() {
      await Promise.allSettled([...ends].map(endEarly));
      await log?.stop();
      await postgres.stop();
      for (const path of [directory, postgres.directory]) await rm(path, { recursive: true, force: true });
    },
  };
}

/** With `statements` it starts twice: a library has to be there from the start. */
async function startPostgres(
  dataDir: string,
  { logger, statements }: { logger: Logger; statements?: boolean },
): Promise<EmbeddedPostgres> {
  const postgres = await startEmbeddedPostgres({ dataDir, logger });
  if (!statements) return postgres;
  await asAdmin(postgres.adminUrl, async (client) => {
    for (const setting of statementSettings) await client.query(`alter system set ${setting}`);
  });
  await postgres.stop();
  return startEmbeddedPostgres({ dataDir, logger });
}
