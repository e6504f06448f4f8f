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
        rows: async (sql) => (await client.query(sql)).rows,
        number: async (sql) => Number(Object.values((await client.query(sql)).rows[0] ?? {})[0]),
      };
    },
    async measure(what, subject, work) {
      progress(what);
      const row = await measured(what, { subject, admin }, work);
      rows.push(row);
      progress(JSON.stringify({ ...row, parts: undefined }));
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

type MeasuredCounts = Required<Pick<Row, "node" | "postgres" | "events" | "statements" | "writes" | "bytes" | "parts">>;

async function measured(what: string, by: { subject: Subject; admin: pg.Client }, work: Work): Promise<Row> {
  const before = await countsOf(by);
  const began = performance.now();
  const done = await work();
  const seconds = (performance.now() - began) / 1_000;
  const after = await countsOf(by);
  const count = typeof done === "number" ? done : done.length;
  const each = (name: Exclude<keyof MeasuredCounts, "parts">): number => (after[name] - before[name]) / count;
  const parts = Object.entries(after.parts).map(([name, now]) => [name, (now - (before.parts[name] ?? 0)) / count]);
  return {
    ...{ what, perSecond: count / seconds, ...(typeof done !== "number" && percentiles(done)) },
    ...{ node: each("node"), postgres: each("postgres") },
    ...{ events: each("events"), statements: each("statements"), writes: each("writes"), bytes: each("bytes") },
    parts: Object.fromEntries(parts.filter(([, number]) => number !== 0)),
    megabytes: residentMegabytes(by.subject.pid)?.most,
  };
}

/** Statements without the superuser's, which are the benchmark's own, and without the beginning and end of transactions. */
const statements = `select regexp_replace(query, '\\s+', ' ', 'g') as name, sum(calls)::float8 as number
  from pg_stat_statements join pg_database on pg_database.oid = dbid
  where datname = $1 and userid <> current_user::regrole and query !~* '^(begin|commit|rollback)' group by 1`;
const events = "select type as name, count(*)::float8 as number, sum(bytes)::float8 as bytes from es.events group by 1";

async function countsOf({
  subject: { pid, database },
  admin,
}: {
  subject: Subject;
  admin: pg.Client;
}): Promise<MeasuredCounts> {
  const hasLog = await database.number("select count(to_regclass('es.events'))");
  const logged = hasLog ? await database.rows<{ name: string; number: number; bytes: number }>(events) : [];
  const { rows: stated } = await admin.query<{ name: string; number: number }>(statements, [database.name]);
  const { rows: written } = await admin.query("select pg_snapshot_xmax(pg_current_snapshot())::text as writes");
  const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);
  return {
    node: cpuSecondsOf(pid) * 1_000,
    postgres: (await cpuSecondsOfServer(async (sql) => (await admin.query(sql)).rows)) * 1_000,
    events: sum(logged.map(({ number }) => number)),
    bytes: sum(logged.map(({ bytes }) => bytes)),
    statements: sum(stated.map(({ number }) => number)),
    writes: Number(written[0]!.writes),
    parts: Object.fromEntries([
      ...logged.map(({ name, number }) => [`event ${name}`, number]),
      ...logged.map(({ name, bytes }) => [`bytes ${name}`, bytes]),
      ...Object.entries(byTables(stated)),
    ]),
  };
}

/** Adds up statements of the same verb on the same tables, so that another list of columns is no other statement. */
function byTables(stated: readonly { name: string; number: number }[]): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const { name, number } of stated) {
    const tables = [...name.matchAll(/\b(?:from|join|into|update|set local) ("?[a-z][\w.]*)/gi)].map(
      ([, table]) => table,
    );
    const part = `statement ${name.split(" ")[0]} ${tables.length === 0 ? name.slice(0, 100) : tables.join(" ")}`;
    sums[part] = (sums[part] ?? 0) + number;
  }
  return sums;
}

function percentiles(times: readonly number[]): Pick<Row, "p50" | "p99"> {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)];
  return { p50: at(0.5), p99: at(0.99) };
}
