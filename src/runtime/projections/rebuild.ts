import type { Projection } from "#projections/projection.ts";
import { type Batch, Unavailable } from "#src/eventStore/eventStore.ts";
import type { Database, Sql } from "#src/platform/postgres/database.ts";
import { loadReadModels, mainGroup, type Progress, ProjectorFailed, projectTogether } from "./checkpoints.ts";
import { lockCheckpoint, lockReadModels, storeFilled, storeReadModel, unfilledVersion } from "./membership.ts";
import {
  analyse,
  createLateIndexes,
  createTables,
  isolate,
  quoteIdentifier,
  serviceRoleOf,
  type TablesSql,
  useSchemas,
} from "./projectionTables.ts";
import { batchesUpTo, type ReplayOptions, rebuildLock } from "./replay.ts";
import { asError, isTransient, pause } from "./retrying.ts";
import { swapTables } from "./swap.ts";

export type RebuildOptions = ReplayOptions & { database: Database; tablesSql: TablesSql };

/**
 * A rebuild that holds its locks. `session`: number of the connection that holds them. `requireUnbroken` throws Unavailable once any
 * connection has broken: the server may have crashed, and lost commits of the fill, which do not wait for the disk.
 */
type Rebuilding = RebuildOptions & { session: number; requireUnbroken(): void };

/** A read model and the position of its new tables. `failure`: the projector's, on the events after that position. */
type Place = Progress & { failure?: Error };

const betweenTriesMs = 250;
const mostTries = 60;
/** Number of times that a filled read model is brought up to what was written meanwhile, before it is swapped. */
const mostPasses = 3;
const noteEveryMs = 1_000;

/**
 * Rebuilds read models together, reading the log once: fills tables in separate schemas, without row level security and without the indexes
 * that only readers need, then makes the indexes and swaps the tables with the live ones, one read model after the other. The live tables
 * are served and written until then. One rebuild of a read model runs at a time; the schema of an interrupted one is removed by the next.
 *
 * `atStart`: leaves out read models whose live tables have this version by now, and new ones if the log is empty. If the projector of a new
 * one fails, its tables are swapped as far as they are filled, and its loop retries it from there. Returns the failures of read models whose
 * tables were not swapped, by name: of a projector, an index or a swap. Throws other errors of the database and the store.
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
  await lock.query("set local idle_in_transaction_session_timeout = 0");
  const { rows } = await lock.query<{ taken: boolean; session: number }>(
    `select coalesce(bool_and(pg_try_advisory_xact_lock(${rebuildLock("name")})), true) as taken, pg_backend_pid() as session
     from unnest($1::text[]) as wanted (name)`,
    [projections.map(({ name }) => name)],
  );
  const { taken, session } = rows[0]!;
  if (!taken) return undefined;
  const stored = await loadReadModels(options.database);
  const isCurrent = ({ name, version }: Projection): boolean => stored.get(name)?.version === version;
  const isUnfilled = ({ name }: Projection): boolean => stored.get(name)?.version === unfilledVersion;
  const isLogEmpty = atStart && projections.some(isUnfilled) && (await options.store.head()) === 0;
  const isFilled = (projection: Projection): boolean => isLogEmpty && isUnfilled(projection);
  if (isLogEmpty) await storeFilled(options.database, projections.filter(isFilled));
  const places: Place[] = projections
    .filter((projection) => !isFilled(projection) && !(atStart && isCurrent(projection)))
    .sort((one, other) => Number(one.independent ?? false) - Number(other.independent ?? false))
    .map((projection) => ({ projection, position: 0 }));
  let isBroken = false;
  const unwatch = options.database.onLost(() => {
    isBroken = true;
  });
  const requireUnbroken = (): void => {
    if (isBroken) throw new Unavailable("a connection to PostgreSQL broke during a rebuild");
  };
  const rebuilding = { ...options, session, requireUnbroken };
  try {
    for (const { projection } of places) await makeSchema(rebuilding, projection);
    await insist(rebuilding, () => fill(rebuilding, places));
    const failed = new Map<string, Error>();
    for (const place of places) {
      const { projection, failure } = place;
      if (failure && !(atStart && isUnfilled(projection))) failed.set(projection.name, failure);
      else
        await putInPlace(rebuilding, place).catch((error) => {
          options.signal.throwIfAborted();
          requireUnbroken();
          failed.set(projection.name, asError(error));
        });
    }
    return failed;
  } finally {
    unwatch();
  }
}

/** A rebuild whose connection broke has lost its locks, but may go on for a moment: the next one writes into another schema. */
const schemaOf = ({ session }: Rebuilding, { name }: Projection): string => `rebuild_${name}_${session}`;

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

/** Fills new tables up to `endOf`, again while events are added. A projector that fails is left out from there on. */
async function fill(rebuilding: Rebuilding, places: readonly Place[]): Promise<void> {
  let position = Math.min(...places.map((place) => place.position));
  const note = noteProgress(rebuilding, places);
  const halves = [true, false].map((isMain) => places.filter(({ projection }) => !projection.independent === isMain));
  for (let pass = 1; pass <= mostPasses; pass++) {
    const end = await endOf(rebuilding, places);
    if (position >= end) return;
    for await (const batch of batchesUpTo(rebuilding, { after: position, end })) {
      // Two transactions at once: while PostgreSQL writes the rows of one, this process makes those of the other.
      const written = await Promise.allSettled(halves.map((half) => writeBatch(rebuilding, half, batch)));
      for (const half of written) if (half.status === "rejected") throw half.reason;
      if (places.every(({ failure }) => failure)) return;
      position = batch.position;
      await note(position);
    }
  }
}

/** The main group's position, if one of the read models belongs to it; otherwise, or if there is no group yet, the end of the log. */
async function endOf({ database, store }: RebuildOptions, places: readonly Progress[]): Promise<number> {
  const stored = [...(await loadReadModels(database)).values()];
  const main = stored.find(({ checkpoint }) => checkpoint === mainGroup);
  return main && places.some(({ projection }) => !projection.independent) ? main.position : store.head();
}

async function writeBatch(rebuilding: Rebuilding, places: readonly Place[], batch: Batch): Promise<void> {
  for (;;) {
    const sound = places.filter(({ failure }) => !failure);
    if (sound.length === 0) return;
    try {
      await rebuilding.database.owner.transaction(async (tx) => {
        await tx.query("set local synchronous_commit = off");
        const schemas = sound.map(({ projection }) => schemaOf(rebuilding, projection));
        await useSchemas(tx, schemas);
        await projectTogether(tx, sound, batch);
      });
      rebuilding.requireUnbroken();
      for (const place of sound) place.position = batch.position;
      return;
    } catch (error) {
      if (!(error instanceof ProjectorFailed)) throw error;
      sound.find(({ projection }) => projection.name === error.projection)!.failure = error;
    }
  }
}

/** Stores now and then how far a rebuild is, for the answers of all instances meanwhile. */
function noteProgress({ database }: RebuildOptions, places: readonly Progress[]): (position: number) => Promise<void> {
  let notedAt = -Infinity;
  return async (position) => {
    if (performance.now() - notedAt < noteEveryMs) return;
    notedAt = performance.now();
    await database.query("update work.read_models set rebuilt_to = $2 where name = any($1)", [
      places.map(({ projection }) => projection.name),
      position,
    ]);
  };
}

/** Makes the remaining indexes and swaps the tables. Waits for readers briefly and repeatedly, so that others do not queue behind it. */
async function putInPlace(rebuilding: Rebuilding, place: Place): Promise<void> {
  const { projection } = place;
  const schema = schemaOf(rebuilding, projection);
  await rebuilding.database.owner.transaction(async (tx) => {
    await createLateIndexes(tx, schema, projection);
    await analyse(tx, schema, projection);
  });
  await insist(rebuilding, async () => {
    if (!place.failure) await fill(rebuilding, [place]);
    await swap(rebuilding, place);
  });
}

/** Repeats work that met a passing obstacle: a table that is being read, or an event store that is away. Throws the last failure. */
async function insist({ signal, requireUnbroken }: Rebuilding, work: () => Promise<void>): Promise<void> {
  for (let tries = 1; ; tries++) {
    signal.throwIfAborted();
    requireUnbroken();
    try {
      return await work();
    } catch (error) {
      if (!isTransient(error) || tries === mostTries) throw error;
      await pause(betweenTriesMs, signal);
    }
  }
}

/**
 * Locks the live checkpoint, so that no writer writes; brings the new tables to the same position, or to the main group's if they belong to
 * it, unless their projector failed; swaps them. New tables that are not at the main group's position get their own checkpoint.
 */
async function swap(rebuilding: Rebuilding, place: Place): Promise<void> {
  const { projection } = place;
  const { name, tables } = projection;
  const schema = schemaOf(rebuilding, projection);
  const arrived = { ...place };
  await rebuilding.database.owner.transaction(async (tx) => {
    await tx.query("set local lock_timeout = '300ms'");
    rebuilding.requireUnbroken();
    await lockReadModels(tx);
    const checkpoint = (await loadReadModels(tx, [name])).get(name)?.checkpoint;
    if (checkpoint) await lockCheckpoint(tx, checkpoint);
    const live = (await loadReadModels(tx, [name])).get(name);
    const main = projection.independent ? undefined : await lockCheckpoint(tx, mainGroup);
    await useSchemas(tx, [schema]);
    if (!place.failure) {
      const end = Math.max(place.position, live?.position ?? 0, main?.position ?? 0);
      for await (const batch of batchesUpTo(rebuilding, { after: place.position, end }))
        await projectTogether(tx, [place], batch);
      arrived.position = end;
    }
    await isolate(tx, schema, projection);
    await swapTables(tx, schema, { oldTables: live?.tables ?? [], newTables: tables });
    await storeReadModel(tx, arrived);
  });
}
