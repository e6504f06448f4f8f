import type { Projection } from "#projections/projection.ts";
import type { Batch } from "#src/eventStore/eventStore.ts";
import type { Database, Sql } from "#src/platform/postgres/database.ts";
import { loadReadModels, mainGroup, type Progress, ProjectorFailed, projectTogether } from "./checkpoints.ts";
import { lockCheckpoint, lockReadModels, storeReadModel } from "./membership.ts";
import {
  createLateIndexes,
  createTables,
  isolate,
  quoteIdentifier,
  serviceRoleOf,
  type TablesSql,
  useSchemas,
} from "./projectionTables.ts";
import { type ReplayOptions, rebuildLock, replayUpTo } from "./replay.ts";
import { isTransient, pause } from "./retrying.ts";
import { swapTables } from "./swap.ts";

export type RebuildOptions = ReplayOptions & { database: Database; tablesSql: TablesSql };

const betweenTriesMs = 250;
const swapTries = 60;
/** Number of times that a filled read model is brought up to what was written meanwhile, before it is swapped. */
const mostPasses = 3;
const noteEveryMs = 1_000;

/**
 * Rebuilds read models together, reading the log once: fills tables in separate schemas, without row level security and without the indexes
 * that only readers need, then makes the indexes and swaps the tables with the live ones, one read model after the other. The live tables
 * are served and written until then. One rebuild of a read model runs at a time; the schema of an interrupted one is removed by the next.
 *
 * `unlessCurrent`: leaves out read models whose live tables have this version by now. Returns the failures of projectors by name; the other
 * read models are rebuilt. Throws ProjectorFailed if all fail, and the database's and the store's errors.
 */
export async function rebuild(
  rebuilding: RebuildOptions,
  projections: readonly Projection[],
  { unlessCurrent = false }: { unlessCurrent?: boolean } = {},
): Promise<Map<string, Error>> {
  const { database, signal } = rebuilding;
  const failed = new Map<string, Error>();
  const rebuildIfFree = async (lock: Sql): Promise<boolean> => {
    if (!(await takeLocks(lock, projections))) return false;
    const stored = await loadReadModels(database);
    const isCurrent = ({ name, version }: Projection): boolean => stored.get(name)?.version === version;
    const wanted = projections.filter((projection) => !(unlessCurrent && isCurrent(projection)));
    for (const projection of wanted) await makeSchema(rebuilding, projection);
    const places = wanted.map((projection) => ({ projection, position: 0 }));
    await fill(rebuilding, places, failed);
    for (const place of places) if (!failed.has(place.projection.name)) await putInPlace(rebuilding, place);
    return true;
  };
  while (!(await database.owner.transaction(rebuildIfFree))) {
    await pause(betweenTriesMs, signal);
    signal.throwIfAborted();
  }
  return failed;
}

/** Takes the locks of all these read models until the end of the transaction; false if one of them is rebuilt or rejoins just now. */
async function takeLocks(lock: Sql, projections: readonly Projection[]): Promise<boolean> {
  const { rows } = await lock.query<{ taken: boolean }>(
    `select coalesce(bool_and(pg_try_advisory_xact_lock(${rebuildLock("name")})), true) as taken from unnest($1::text[]) as wanted (name)`,
    [projections.map(({ name }) => name)],
  );
  return rows[0]!.taken;
}

const schemaOf = ({ name }: Projection): string => `rebuild_${name}`;

async function makeSchema({ database, tablesSql }: RebuildOptions, projection: Projection): Promise<void> {
  const ddl = await tablesSql(projection);
  const serviceRole = await serviceRoleOf(database);
  const schema = quoteIdentifier(schemaOf(projection));
  await database.owner.transaction(async (tx) => {
    await tx.query(`drop schema if exists ${schema} cascade; create schema ${schema}`);
    await createTables(tx, schemaOf(projection), { projection, ddl, serviceRole });
  });
}

/** Fills new tables up to `endOf`, again while events are added. Projectors that fail are added to `failed` and left out from there on. */
async function fill(rebuilding: RebuildOptions, places: Progress[], failed: Map<string, Error>): Promise<void> {
  const progress = { position: Math.min(...places.map(({ position }) => position)) };
  const note = noteProgress(rebuilding, places);
  for (let pass = 1; pass <= mostPasses && places.length > 0; pass++) {
    const end = await endOf(rebuilding, places);
    if (progress.position >= end) return;
    await replayUpTo(rebuilding, { progress, end }, async (batch) => {
      // Two transactions at once: while PostgreSQL writes the rows of one, this process makes those of the other.
      const halves = [true, false].map((isMain) =>
        places.filter(({ projection }) => !projection.independent === isMain),
      );
      const written = await Promise.allSettled(
        halves.map((half) => writeBatch(rebuilding, { places: half, failed }, batch)),
      );
      for (const half of written) if (half.status === "rejected") throw half.reason;
      if (failed.size === places.length) throw [...failed.values()][0];
      await note(batch.position);
    });
  }
}

/** The main group's position, if one of the read models is in that group; otherwise the end of the log. */
async function endOf({ database, store }: RebuildOptions, places: readonly Progress[]): Promise<number> {
  const stored = await loadReadModels(database);
  const live = places.map(({ projection }) => stored.get(projection.name));
  const main = live.find((one) => one?.checkpoint === mainGroup);
  return main?.position ?? store.head();
}

async function writeBatch(
  { database }: RebuildOptions,
  { places, failed }: { places: readonly Progress[]; failed: Map<string, Error> },
  batch: Batch,
): Promise<void> {
  for (;;) {
    const sound = places.filter(({ projection }) => !failed.has(projection.name));
    if (sound.length === 0) return;
    try {
      await database.owner.transaction(async (tx) => {
        await tx.query("set local synchronous_commit = off");
        const schemas = sound.map(({ projection }) => schemaOf(projection));
        await useSchemas(tx, schemas);
        await projectTogether(tx, sound, batch);
      });
      for (const place of sound) place.position = batch.position;
      return;
    } catch (error) {
      if (!(error instanceof ProjectorFailed)) throw error;
      failed.set(error.projection, error);
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

/** Makes the remaining indexes and swaps the tables. Waits briefly and repeatedly for readers, so that others do not queue behind it. */
async function putInPlace(rebuilding: RebuildOptions, place: Progress): Promise<void> {
  const { projection } = place;
  await rebuilding.database.owner.transaction((tx) => createLateIndexes(tx, schemaOf(projection), projection));
  for (let tries = 1; ; tries++) {
    rebuilding.signal.throwIfAborted();
    try {
      return await swap(rebuilding, place);
    } catch (error) {
      if (!isTransient(error) || tries === swapTries) throw error;
      await pause(betweenTriesMs, rebuilding.signal);
      await fill(rebuilding, [place], new Map());
    }
  }
}

/**
 * Locks the live checkpoint, so that no writer writes; brings the new tables to the same position; swaps them. New tables that are ahead of
 * the main group's checkpoint get their own checkpoint.
 */
async function swap(rebuilding: RebuildOptions, place: Progress): Promise<void> {
  const { projection } = place;
  const { name, tables } = projection;
  const arrived = { ...place };
  await rebuilding.database.owner.transaction(async (tx) => {
    await tx.query("set local lock_timeout = '300ms'");
    await lockReadModels(tx);
    const checkpoint = (await loadReadModels(tx, [name])).get(name)?.checkpoint;
    if (checkpoint) await lockCheckpoint(tx, checkpoint);
    const live = (await loadReadModels(tx, [name])).get(name);
    await useSchemas(tx, [schemaOf(projection)]);
    await replayUpTo(rebuilding, { progress: arrived, end: live?.position ?? 0 }, (batch) =>
      projectTogether(tx, [arrived], batch),
    );
    await isolate(tx, schemaOf(projection), projection);
    await swapTables(tx, schemaOf(projection), { oldTables: live?.tables ?? [], newTables: tables });
    await storeReadModel(tx, arrived);
  });
}
