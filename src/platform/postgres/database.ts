import pg from "pg";
import type { Tx } from "#projections/projection.ts";
import type { Reads } from "#projections/reads.ts";
import { NotRun, onConnection } from "./pipeline.ts";
import { createReads, everyWorkspace } from "./reads.ts";
import { named, type Statement } from "./statements.ts";
import { inTransaction } from "./transaction.ts";
import { isCutOff } from "./unavailable.ts";

export { NotRun };

/** Something that takes SQL: a database (each query on its own) or a transaction. The same shape as a projector's `Tx`. */
export type Sql = Tx;

/** SQL under one role. Every query throws Unavailable if the server could not be reached or did not answer. */
export type Role = Sql & {
  /**
   * All or nothing on one connection. A failed statement fails the transaction, also if `work` does not await it or catches its error. Throws
   * OutcomeUnknown if the connection was lost at the commit: the transaction may have been committed.
   */
  transaction<T>(work: (tx: Sql) => Promise<T>): Promise<T>;
};

/** The service's own role, which has what the migrations grant it, and beside it the role that owns the tables. */
export type Database = Role & {
  /** The read models, by workspace. */
  reads: Reads;
  /**
   * The service's own role, for what runs read models and processes: few connections, so that few have to plan its large statements. They have the
   * settings of `ofBackground`. Each statement is a single command, which a connection parses and plans once.
   */
  background: Role;
  /** For DDL of read models alone: no statement timeout, at most two connections, opened when first used. */
  owner: Role;
  /** The service role's pool, for those who need a connection to themselves. Its errors are not mapped: see `asUnavailable`. */
  pool: pg.Pool;
  /**
   * Calls it each time a connection breaks, lent out or not, or is given up because no answer comes, until what it answers is called: the
   * server may have crashed, and lost what was committed without waiting for its disk.
   */
  onLost(told: () => void): () => void;
  close(): Promise<void>;
};

/** The same database for a runner: it asks over the connections of the background. */
export const inBackground = (database: Database): Database => ({ ...database, ...database.background });

export type DatabaseUrls = { serviceUrl: string; ownerUrl: string };

export type DatabaseOptions = {
  /** Connections of the service role (default 12), and so many more in the background (default 8) and for reads of the read models (default 10). */
  maxConnections?: number;
  maxBackgroundConnections?: number;
  maxReadConnections?: number;
  /** Milliseconds a statement of the service role may take (default 8,000): short enough that a caller is told in time. */
  statementTimeoutMs?: number;
  /** Called with connections that broke while idle; the pool replaces them by itself. */
  onConnectionLost?: (error: Error) => void;
};

/** Where read models live; their table names are unqualified, so that a rebuild can fill another schema. */
const searchPath = "-c search_path=read";
/**
 * Plans are made once a connection, not six times before PostgreSQL keeps one: planning is half of what a statement of the work table takes. All
 * these statements look things up by keys. What reads the read models goes by whatever filters there are, and keeps its own plans.
 */
const plannedOnce = `${searchPath} -c plan_cache_mode=force_generic_plan`;

/**
 * Settings of the background's connections. No commit waits for the disk: what a crash of the server takes back is done again. An instance that is
 * stopped in mid-transaction holds its locks for 3 s, so a lock that is not free after 4 s is not that of such an instance, nor that of
 * PostgreSQL's own housekeeping, which gives way after one. Projectors write rows of every workspace.
 */
const ofBackground = `set synchronous_commit = off; set idle_in_transaction_session_timeout = '3s'; set lock_timeout = '4s';
  set countersign.workspace = '${everyWorkspace}'`;

export function connectDatabase({ serviceUrl, ownerUrl }: DatabaseUrls, options: DatabaseOptions = {}): Database {
  const {
    maxConnections = 12,
    maxBackgroundConnections = 8,
    maxReadConnections = 10,
    statementTimeoutMs = 8_000,
    onConnectionLost = () => {},
  } = options;
  const common = { connectionTimeoutMillis: 5_000, keepAlive: true, options: searchPath, types };
  const ofService = {
    ...common,
    connectionString: serviceUrl,
    application_name: "countersign",
    idleTimeoutMillis: 60_000,
    statement_timeout: statementTimeoutMs,
    // For a server that hangs, and does not end its statements itself.
    query_timeout: statementTimeoutMs + 1_000,
    idle_in_transaction_session_timeout: 60_000,
    pipeline: true,
  };
  const pool = new pg.Pool({ ...ofService, options: plannedOnce, max: maxConnections });
  const backgroundPool = new pg.Pool({
    ...ofService,
    options: plannedOnce,
    max: maxBackgroundConnections,
    onConnect: (client) => client.query(ofBackground),
  });
  const readPool = new pg.Pool({ ...ofService, max: maxReadConnections });
  const ownerPool = new pg.Pool({
    ...common,
    options: `${searchPath} -c countersign.workspace=${everyWorkspace}`,
    connectionString: ownerUrl,
    application_name: "countersign owner",
    max: 2,
  });
  const losses = new Set<() => void>();
  const onBroken = (): void => losses.forEach((told) => void told());
  const pools = [pool, backgroundPool, readPool, ownerPool];
  for (const each of pools) surviveLostConnections(each, { onConnectionLost, onBroken });
  const service = roleOf(pool);
  return {
    ...service,
    reads: createReads(readPool, service),
    background: roleOf(backgroundPool, named),
    owner: roleOf(ownerPool),
    pool,
    onLost(told) {
      losses.add(told);
      return () => void losses.delete(told);
    },
    close: async () => {
      await Promise.all(pools.map((each) => each.end()));
    },
  };
}

/** int8 as a number: positions and counts stay far below 2^53, and one that does not must not be rounded silently. */
function parseInt8(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError(`${text} is not a safe integer`);
  return value;
}

const types = {
  getTypeParser: ((oid: number, format?: "text") =>
    oid === pg.types.builtins.INT8 ? parseInt8 : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
};

function surviveLostConnections(
  pool: pg.Pool,
  { onConnectionLost, onBroken }: { onConnectionLost: (error: Error) => void; onBroken: () => void },
): void {
  // A pool's end does not wait for its sockets: what a server that stops says to them then is no news.
  pool.on("error", (error) => {
    if (!pool.ending) onConnectionLost(error);
  });
  // A connection that breaks while lent out emits "error" as well as failing its query: without a listener that ends the process.
  pool.on("connect", (client) => client.on("error", onBroken));
  // One that we end ourselves says nothing any more.
  pool.on("release", (failure) => {
    if (isCutOff(failure)) onBroken();
  });
}

const roleOf = (pool: pg.Pool, stated: typeof named = nameWork): Role => ({
  query: (text, values) => onConnection(pool, (pipeline) => pipeline.ask(stated(text, values))) as never,
  transaction: (work) => inTransaction(pool, work, { stated }),
});

/** Statements about the schema `work` recur, and its tables are never replaced: each connection parses and plans them once. */
const nameWork = (text: string, values: readonly unknown[] = []): Statement =>
  text.includes(" work.") && values.length > 0 ? named(text, values) : { text, values: values as unknown[] };
