import type { Projection } from "#projections/projection.ts";
import type { Database } from "#src/platform/postgres/database.ts";
import { loadReadModels, mainGroup, type Progress, projectBatch } from "./checkpoints.ts";
import { lockCheckpoint, lockReadModels, storeReadModel } from "./membership.ts";
import {
  createLateIndexes,
  createTables,
  quoteIdentifier,
  serviceRoleOf,
  type TablesSql,
  useSchema,
} from "./projectionTables.ts";
import { type ReplayOptions, rebuildLock, replayUpTo } from "./replay.ts";
import { isTransient, pause } from "./retrying.ts";
import { swapTables } from "./swap.ts";

export type RebuildOptions = ReplayOptions & { database: Database; tablesSql: TablesSql };

const swapTries = 60;

/**
 * Rebuilds a projection's tables in a separate schema and swaps them with the live ones, which are served and written until then. One
 * rebuild of a projection runs at a time; the schema of an interrupted one is removed by the next.
 */
export async function rebuild(rebuilding: RebuildOptions, projection: Projection): Promise<void> {
  const { database } = rebuilding;
  await database.owner.transaction(async (lock) => {
    await lock.query(`select pg_advisory_xact_lock(${rebuildLock})`, [projection.name]);
    const schema = `rebuild_${projection.name}`;
    await makeSchema(rebuilding, schema, projection);
    const progress = { projection, position: 0 };
    await catchUp(rebuilding, schema, progress);
    await createLateIndexes(database.owner, schema, projection);
    await swapWhenPossible(rebuilding, schema, progress);
  });
}

async function makeSchema(
  { database, tablesSql }: RebuildOptions,
  schema: string,
  projection: Projection,
): Promise<void> {
  const ddl = await tablesSql(projection);
  const serviceRole = await serviceRoleOf(database);
  await database.owner.transaction(async (tx) => {
    await tx.query(
      `drop schema if exists ${quoteIdentifier(schema)} cascade; create schema ${quoteIdentifier(schema)}`,
    );
    await createTables(tx, schema, { projection, ddl, serviceRole });
  });
}

/** Fills the new tables up to the main group's position for a read model of that group, up to the end of the log for others. */
async function catchUp(rebuilding: RebuildOptions, schema: string, progress: Progress): Promise<void> {
  const { database, store } = rebuilding;
  const { name } = progress.projection;
  const live = (await loadReadModels(database, [name])).get(name);
  const end = live?.checkpoint === mainGroup ? live.position : await store.head();
  await replayUpTo(rebuilding, { progress, end }, async (batch) => {
    await database.owner.transaction(async (tx) => {
      await tx.query("set local synchronous_commit = off");
      await useSchema(tx, schema);
      await projectBatch(tx, progress, batch);
    });
  });
}

/** Waits briefly and repeatedly for readers, so that others do not queue behind the swap. */
async function swapWhenPossible(rebuilding: RebuildOptions, schema: string, progress: Progress): Promise<void> {
  for (let tries = 1; ; tries++) {
    rebuilding.signal.throwIfAborted();
    try {
      return await swap(rebuilding, schema, progress);
    } catch (error) {
      if (!isTransient(error) || tries === swapTries) throw error;
      await pause(250, rebuilding.signal);
      await catchUp(rebuilding, schema, progress);
    }
  }
}

/**
 * Locks the live checkpoint, so that no writer writes; brings the new tables to the same position; swaps them. New tables that are ahead of
 * the main group's checkpoint get their own checkpoint.
 */
async function swap(rebuilding: RebuildOptions, schema: string, progress: Progress): Promise<void> {
  const { name, tables } = progress.projection;
  const arrived = { ...progress };
  await rebuilding.database.owner.transaction(async (tx) => {
    await tx.query("set local lock_timeout = '300ms'");
    await lockReadModels(tx);
    const checkpoint = (await loadReadModels(tx, [name])).get(name)?.checkpoint;
    if (checkpoint) await lockCheckpoint(tx, checkpoint);
    const live = (await loadReadModels(tx, [name])).get(name);
    await useSchema(tx, schema);
    await replayUpTo(rebuilding, { progress: arrived, end: live?.position ?? 0 }, (batch) =>
      projectBatch(tx, arrived, batch),
    );
    await swapTables(tx, schema, { oldTables: live?.tables ?? [], newTables: tables });
    await storeReadModel(tx, arrived);
  });
}
