import { loadReadModels, mainGroup, ProjectorFailed, projectTogether } from "./checkpoints.ts";
import { fill } from "./fill.ts";
import { lockCheckpoint, lockReadModels, storeReadModel } from "./membership.ts";
import { analyse, createLateIndexes, isolate, useSchemas } from "./projectionTables.ts";
import { type Place, type Rebuilding, schemaOf } from "./rebuilding.ts";
import { batchesUpTo } from "./replay.ts";
import { swapTables } from "./swap.ts";

/**
 * Makes the remaining indexes and exchanges the tables with the live ones. Waits for readers only briefly, so that others do not queue
 * behind it. Throws the database's errors, those of a lock among them, and the projector's unless the read model is new: then its tables
 * are exchanged as far as they are filled.
 */
export async function putInPlace(rebuilding: Rebuilding, place: Place): Promise<void> {
  if (place.failure && !place.isNew) throw place.failure;
  await finishTables(rebuilding, place);
  await fill(rebuilding, [place]);
  if (!place.failure) {
    try {
      return await exchange(rebuilding, place);
    } catch (error) {
      if (!(error instanceof ProjectorFailed)) throw error;
      place.failure = error;
    }
  }
  if (!place.isNew) throw place.failure;
  await exchange(rebuilding, place);
}

async function finishTables(rebuilding: Rebuilding, place: Place): Promise<void> {
  if (place.isIndexed) return;
  const { projection } = place;
  const schema = schemaOf(rebuilding, projection);
  await rebuilding.database.owner.transaction(async (tx) => {
    await createLateIndexes(tx, schema, projection);
    await analyse(tx, schema, projection);
  });
  place.isIndexed = true;
}

/**
 * Locks the live checkpoint, so that no writer writes; brings the new tables to the same position, or to the main group's if they belong to
 * it, unless their projector failed; exchanges them. New tables that are not at the main group's position get their own checkpoint.
 */
async function exchange(rebuilding: Rebuilding, place: Place): Promise<void> {
  const { projection, failure } = place;
  const { name, tables } = projection;
  const schema = schemaOf(rebuilding, projection);
  await rebuilding.database.owner.transaction(async (tx) => {
    await tx.query("set local lock_timeout = '300ms'");
    // A connection that is merely silent may have lost its locks.
    await rebuilding.lock.query("select 1");
    rebuilding.requireUnbroken();
    await lockReadModels(tx);
    const checkpoint = (await loadReadModels(tx, [name])).get(name)?.checkpoint;
    if (checkpoint) await lockCheckpoint(tx, checkpoint);
    const live = (await loadReadModels(tx, [name])).get(name);
    const main = projection.independent ? undefined : await lockCheckpoint(tx, mainGroup);
    await useSchemas(tx, [schema]);
    const end = failure ? place.position : Math.max(place.position, live?.position ?? 0, main?.position ?? 0);
    for await (const batch of batchesUpTo(rebuilding, { after: place.position, end }))
      await projectTogether(tx, [place], batch);
    await isolate(tx, schema, projection);
    await swapTables(tx, schema, { oldTables: live?.tables ?? [], newTables: tables });
    await storeReadModel(tx, { projection, position: end });
  });
}
