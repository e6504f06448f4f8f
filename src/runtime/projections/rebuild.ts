import type { Projection } from "#projections/projection.ts";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import type { Sql } from "#src/platform/postgres/database.ts";
import { loadReadModels } from "./checkpoints.ts";
import { exchange } from "./exchange.ts";
import { fill } from "./fill.ts";
import { storeFilled, unfilledVersion } from "./membership.ts";
import { createTables, quoteIdentifier, serviceRoleOf } from "./projectionTables.ts";
import { type NewTables, type Rebuilding, type RebuildOptions, schemaOf } from "./rebuilding.ts";
import { rebuildLock } from "./replay.ts";
import { asError, backoffMs, endsByItself, pause } from "./retrying.ts";

export type { RebuildOptions } from "./rebuilding.ts";

const betweenTriesMs = 250;

/**
 * Rebuilds read models together, reading the log once: fills tables in separate schemas, without row level security and without the indexes
 * that only readers need, then makes the indexes and exchanges the tables with the live ones, one read model after the other. The live
 * tables are served and written until then. Waits without limit for sessions that lock the live tables, and for the event store. One
 * rebuild of a read model runs at a time; the schema of an interrupted one is removed by the next.
 *
 * `atStart`: leaves out read models whose live tables have this version by now, and new ones if the log is empty. If the projector of a new
 * one fails, its tables are exchanged as far as they are filled, and its loop retries it from there. Returns the failures of read models
 * whose tables were not exchanged, by name: of a projector, an index or an exchange. Throws other errors of the database and the store.
 */
export async function rebuild(
  options: RebuildOptions,
  projections: readonly Projection[],
  { atStart = false }: { atStart?: boolean } = {},
): Promise<Map<string, Error>> {
  const { database, signal } = options;
  for (;;) {
    const failed = await database.owner.transaction((lock) => rebuildIfFree(lock, options, { projections, atStart }));
    if (failed) return failed;
    await pause(betweenTriesMs, signal);
    signal.throwIfAborted();
  }
}

/** Rebuilds if no other rebuild has one of the read models. The transaction `lock` holds their locks. */
async function rebuildIfFree(
  lock: Sql,
  options: RebuildOptions,
  { projections, atStart }: { projections: readonly Projection[]; atStart: boolean },
): Promise<Map<string, Error> | undefined> {
  const { database, signal } = options;
  let isBroken = false;
  const unwatch = database.onLost(() => {
    isBroken = true;
  });
  const requireUnbroken = (): void => {
    signal.throwIfAborted();
    if (isBroken) throw new Unavailable("a connection to PostgreSQL broke during a rebuild");
  };
  try {
    const session = await lockAll(lock, projections);
    if (session === undefined) return undefined;
    const rebuilding = { ...options, lock, session, requireUnbroken };
    const readModels = atStart
      ? await neededAtStart(options, projections)
      : projections.map((projection): NewTables => ({ projection, position: 0, isNew: false }));
    for (const { projection } of readModels) await makeSchema(rebuilding, projection);
    await fill(rebuilding, readModels);
    return await exchangeAll(rebuilding, readModels);
  } finally {
    unwatch();
  }
}

/** Takes the locks of rebuilds, if all are free, and returns the number of the connection that holds them. */
async function lockAll(lock: Sql, projections: readonly Projection[]): Promise<number | undefined> {
  await lock.query("set local idle_in_transaction_session_timeout = 0");
  const { rows } = await lock.query<{ taken: boolean; session: number }>(
    `select coalesce(bool_and(pg_try_advisory_xact_lock(${rebuildLock("name")})), true) as taken, pg_backend_pid() as session
     from unnest($1::text[]) as wanted (name)`,
    [projections.map(({ name }) => name)],
  );
  return rows[0]!.taken ? rows[0]!.session : undefined;
}

/** Leaves out what needs no rebuild. Stores that new, empty tables are filled if the log is empty. */
async function neededAtStart(
  { database, store }: RebuildOptions,
  projections: readonly Projection[],
): Promise<NewTables[]> {
  const stored = await loadReadModels(database);
  const versionOf = ({ name }: Projection): number | undefined => stored.get(name)?.version;
  const unfilled = projections.filter((projection) => versionOf(projection) === unfilledVersion);
  const filled = unfilled.length > 0 && (await store.head()) === 0 ? unfilled : [];
  if (filled.length > 0) await storeFilled(database, filled);
  return projections
    .filter((projection) => !filled.includes(projection) && versionOf(projection) !== projection.version)
    .map((projection) => ({ projection, position: 0, isNew: unfilled.includes(projection) }));
}

async function makeSchema(rebuilding: Rebuilding, projection: Projection): Promise<void> {
  const { database, tablesSql } = rebuilding;
  const ddl = await tablesSql(projection);
  const serviceRole = await serviceRoleOf(database);
  const schema = schemaOf(rebuilding, projection);
  await database.owner.transaction(async (tx) => {
    const { rows } = await tx.query<{ name: string }>("select nspname as name from pg_namespace where nspname ~ $1", [
      `^rebuild_${projection.name}_[0-9]+$`,
    ]);
    for (const { name } of rows) await tx.query(`drop schema ${quoteIdentifier(name)} cascade`);
    await tx.query(`create schema ${quoteIdentifier(schema)}`);
    await createTables(tx, schema, { projection, ddl, serviceRole });
  });
}

/** Exchanges the tables of one read model after the other; one whose tables are being read is tried again after the others. */
async function exchangeAll(rebuilding: Rebuilding, readModels: readonly NewTables[]): Promise<Map<string, Error>> {
  const failed = new Map<string, Error>();
  const tries = new Map<NewTables, number>();
  const queue = exchangeOrder(readModels);
  for (let readModel = queue.shift(); readModel; readModel = queue.shift()) {
    rebuilding.requireUnbroken();
    const { name } = readModel.projection;
    try {
      await exchange(rebuilding, readModel);
    } catch (thrown) {
      rebuilding.requireUnbroken();
      const err = asError(thrown);
      if (!endsByItself(err)) {
        failed.set(name, err);
        rebuilding.onFailed?.(name, err);
        continue;
      }
      const tried = (tries.get(readModel) ?? 0) + 1;
      tries.set(readModel, tried);
      if (tried === 1) rebuilding.onWaiting?.({ projections: [name], err });
      queue.push(readModel);
      await pause(backoffMs(tried), rebuilding.signal);
    }
  }
  return failed;
}

/**
 * The main group's first, because most requests need them; failed ones last, so that a main group that does not exist yet begins at the
 * position of the sound ones.
 */
const exchangeOrder = (readModels: readonly NewTables[]): NewTables[] =>
  readModels.toSorted((one, other) => orderOf(one) - orderOf(other));

const orderOf = ({ failure, projection }: NewTables): number => (failure ? 2 : projection.independent ? 1 : 0);
