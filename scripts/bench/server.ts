import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "#src/platform/embeddedPostgres/embeddedPostgres.ts";
import { createLogger, logTo } from "#src/platform/logger.ts";
import { cpuSecondsOf, cpuSecondsOfServer } from "../support/cpuSeconds.ts";
import { residentMegabytes } from "../support/memory.ts";
import { type BenchServer, progress, type Row, type Subject, type Work } from "./bench.ts";

/** Starts a PostgreSQL with the settings of the embedded one, on a directory that `stop` removes. `rows`: where measurements are recorded. */
export async function startServer(rows: Row[]): Promise<BenchServer & { stop(): Promise<void> }> {
  const directory = await mkdtemp(join(tmpdir(), "countersign-bench-"));
  const postgres = await startCounting(join(directory, "data"));
  const cleanups: (() => Promise<void>)[] = [];
  const superuser = async (database: string): Promise<pg.Client> => {
    const client = new pg.Client(urlOf(postgres.adminUrl, database));
    client.on("error", () => {});
    await client.connect();
    cleanups.push(() => client.end());
    return client;
  };
  const admin = await superuser("postgres");
  await admin.query("create extension pg_stat_statements");
  let databases = 0;

  return {
    directory,
    atEnd: (cleanup) => void cleanups.push(cleanup),
    async database() {
      const name = `bench_${++databases}`;
      await admin.query(`create database ${name} owner ${pg.escapeIdentifier(new URL(postgres.ownerUrl).username)}`);
      const client = await superuser(name);
      return {
        name,
        ownerUrl: urlOf(postgres.ownerUrl, name),
        serviceUrl: urlOf(postgres.serviceUrl, name),
        number: async (sql) => Number(Object.values((await client.query(sql)).rows[0] ?? {})[0]),
      };
    },
    async measure(what, subject, work) {
      progress(what);
      const row = await measured(what, { subject, admin }, work);
      rows.push(row);
      progress(JSON.stringify(row));
    },
    record: (what, times) => void rows.push({ what, ...percentiles(times) }),
    async stop() {
      for (const cleanup of cleanups.reverse()) await cleanup().catch((error) => console.error(error));
      await postgres.stop();
      for (const path of [directory, postgres.directory]) await rm(path, { recursive: true, force: true });
    },
  };
}

/** Starts the server, then restarts it: pg_stat_statements has to be loaded at the start. */
async function startCounting(dataDir: string): Promise<EmbeddedPostgres> {
  const logger = createLogger("warn", logTo(2));
  const postgres = await startEmbeddedPostgres({ dataDir, logger });
  const client = new pg.Client(postgres.adminUrl);
  await client.connect();
  await client.query("alter system set shared_preload_libraries = 'pg_stat_statements'");
  await client.end();
  await postgres.stop();
  return startEmbeddedPostgres({ dataDir, logger });
}

const urlOf = (url: string, database: string): string => Object.assign(new URL(url), { pathname: `/${database}` }).href;

type MeasuredCounts = Required<Pick<Row, "node" | "postgres" | "events" | "statements" | "writes">>;

async function measured(what: string, by: { subject: Subject; admin: pg.Client }, work: Work): Promise<Row> {
  const before = await countsOf(by);
  const began = performance.now();
  const done = await work();
  const seconds = (performance.now() - began) / 1_000;
  const after = await countsOf(by);
  const count = typeof done === "number" ? done : done.length;
  const each = (name: keyof MeasuredCounts): number => (after[name] - before[name]) / count;
  return {
    ...{ what, perSecond: count / seconds, ...(typeof done !== "number" && percentiles(done)) },
    ...{ node: each("node"), postgres: each("postgres") },
    ...{ events: each("events"), statements: each("statements"), writes: each("writes") },
    megabytes: residentMegabytes(by.subject.pid)?.most,
  };
}

/** Counts without the superuser's statements, which are the benchmark's own, and without the beginning and end of transactions. */
const statements = `select sum(calls) as statements, pg_snapshot_xmax(pg_current_snapshot())::text as writes
  from pg_stat_statements join pg_database on pg_database.oid = dbid
  where datname = $1 and userid <> current_user::regrole and query !~* '^(begin|commit|rollback)'`;

async function countsOf({
  subject: { pid, database },
  admin,
}: {
  subject: Subject;
  admin: pg.Client;
}): Promise<MeasuredCounts> {
  const { rows } = await admin.query(statements, [database.name]);
  const hasLog = await database.number("select count(to_regclass('es.events'))");
  return {
    node: cpuSecondsOf(pid) * 1_000,
    postgres: (await cpuSecondsOfServer(async (sql) => (await admin.query(sql)).rows)) * 1_000,
    events: hasLog ? await database.number("select count(*) from es.events") : 0,
    statements: Number(rows[0].statements),
    writes: Number(rows[0].writes),
  };
}

function percentiles(times: readonly number[]): Pick<Row, "p50" | "p99"> {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)];
  return { p50: at(0.5), p99: at(0.99) };
}
