import pg from "pg";
import type { Tx } from "#projections/projection.ts";
import type { Reads } from "#projections/reads.ts";
import { connectionTo } from "./connectionTo.ts";
import { NotRun, onConnection } from "./pipeline.ts";
import { createReads, everyWorkspace } from "./reads.ts";
import { named, type Statement } from "./statements.ts";
import { inTransaction } from "./transaction.ts";
import { isCutOff } from "./unavailable.ts";

export { NotRun };

/** Executes SQL: a database (each query separately) or a transaction. Has the same shape as a projector's `Tx`. */
export type Sql = Tx;

/** SQL under one role. Every query throws Unavailable if the server cannot be reached or does not answer. */
export type DatabaseRole = Sql & {
  /**
   * Runs a transaction on one connection. A failed statement fails the transaction, even if `work` does not await it or catches its error.
   * Throws OutcomeUnknown if the connection was lost at the commit: the transaction may have been committed.
   */
  transaction<T>(work: (tx: Sql) => Promise<T>): Promise<T>;
};

/** The service's role, with the rights granted by the migrations, and the owner of the tables as a second role. */
export type Database = DatabaseRole & {
  /** Reads of the read models, by workspace. */
  reads: Reads;
  /**
   * The service's role, for projections and processes: few connections, so that few have to plan its large statements. They have the
   * settings of `ofBackground`. Each statement is a single command, which a connection parses and plans once.
   */
  background: DatabaseRole;
  /** For DDL of read models alone: no statement timeout, at most three connections, opened when first used. */
  owner: DatabaseRole;
  /** Pool of the service's role, for callers that need a connection to themselves. Its errors are not mapped: see `asUnavailable`. */
  pool: pg.Pool;
  /**
   * Calls `told` each time a connection breaks, in use or not, or is abandoned because no answer arrives: the server may have crashed, and
   * lost commits that did not wait for the disk. Returns a function that ends this.
   */
  onLost(told: () => void): () => void;
  close(): Promise<void>;
};

declare const isBackground: unique symbol;

/** The database as seen by a runner: its queries use the background connections, which see all workspaces. */
export type BackgroundDatabase = Database & { readonly [isBackground]: true };

/** Returns the database for a runner. */
export const inBackground = (database: Database): BackgroundDatabase =>
  ({ ...database, ...database.background }) as BackgroundDatabase;

export type DatabaseUrls = { serviceUrl: string; ownerUrl: string };

export type DatabaseOptions = {
  /** Connections of the service role (default 12), in the background (default 8) and for reads of the read models (default 10). */
  maxConnections?: number;
  maxBackgroundConnections?: number;
  maxReadConnections?: number;
  /** Milliseconds a statement of the service role may take (default 8,000): short enough to answer the caller in time. */
  statementTimeoutMs?: number;
  /** Called when an idle connection breaks; the pool replaces it by itself. */
  onConnectionLost?: (error: Error) => void;
};

/** Schema of the read models; their table names are unqualified, so that a rebuild can fill another schema. */
const searchPath = "-c search_path=read";
/** The service looks rows up by keys: compiling such a statement takes many times as long as running it. */
const lookUps = `${searchPath} -c jit=off`;
/**
 * Statements are planned once per connection, not six times before PostgreSQL keeps a generic plan: planning is half of the time of a
 * statement of the work table. All these statements look rows up by keys. Reads of the read models have varying filters, and keep custom
 * plans.
 */
const plannedOnce = `${lookUps} -c plan_cache_mode=force_generic_plan`;

/**
 * Settings of the background connections. No commit waits for the disk: work lost in a crash of the server is done again. An instance
 * suspended within a transaction holds its locks for 3 s, so a lock that is not free after 4 s is neither held by such an instance nor by
 * PostgreSQL's maintenance, which yields after 1 s. Projectors write rows of every workspace.
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
  const common = { connectionTimeoutMillis: 5_000, types };
  const ofService = {
    ...common,
    idleTimeoutMillis: 60_000,
    statement_timeout: statementTimeoutMs,
    // For a server that hangs and does not end its statements itself.
    query_timeout: statementTimeoutMs + 1_000,
    idle_in_transaction_session_timeout: 60_000,
    pipeline: true,
  };
  const servicePool = (own: pg.PoolConfig) => new pg.Pool(connectionTo(serviceUrl, { ...ofService, ...own }));
  const pool = servicePool({ options: plannedOnce, max: maxConnections });
  const backgroundPool = servicePool({
    options: plannedOnce,
    max: maxBackgroundConnections,
    onConnect: (client) => client.query(ofBackground),
  });
  const readPool = servicePool({ options: lookUps, max: maxReadConnections });
  const ownerPool = new pg.Pool(
    connectionTo(ownerUrl, {
      ...common,
      options: `${searchPath} -c countersign.workspace=${everyWorkspace}`,
      application_name: "countersign owner",
      max: 3,
    }),
  );
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

/** Parses int8 as a number: positions and counts stay far below 2^53; a larger value must not be rounded silently. */
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
  // Closing a pool does not wait for its sockets: errors that a stopping server sends to them then are ignored.
  pool.on("error", (error) => {
    if (!pool.ending) onConnectionLost(error);
  });
  // A connection that breaks while in use emits "error" as well as failing its query: without a listener that would end the process.
  pool.on("connect", (client) => client.on("error", onBroken));
  // A connection that we end ourselves emits no error.
  pool.on("release", (failure) => {
    if (isCutOff(failure)) onBroken();
  });
}

const roleOf = (pool: pg.Pool, stated: typeof named = nameWork): DatabaseRole => ({
  query: (text, values) => onConnection(pool, (pipeline) => pipeline.ask(stated(text, values))) as never,
  transaction: (work) => inTransaction(pool, work, { stated }),
});

/** Statements about the schema `work` recur, and its tables are never replaced: each connection parses and plans them once. */
const nameWork = (text: string, values: readonly unknown[] = []): Statement =>
  text.includes(" work.") && values.length > 0 ? named(text, values) : { text, values: values as unknown[] };
