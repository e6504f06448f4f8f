import { loadReadModels, mainGroup, ProjectorFailed, projectTogether } from "./checkpoints.ts";
import { exchangeTables } from "./exchangeTables.ts";
import { fill } from "./fill.ts";
import { lockCheckpoint, lockReadModels, storeReadModel } from "./membership.ts";
import { analyse, createLateIndexes, isolate, useSchemas } from "./projectionTables.ts";
import { type NewTables, type Rebuilding, schemaOf } from "./rebuilding.ts";
import { batchesUpTo } from "./replay.ts";

/**
 * Makes the remaining indexes and exchanges the tables with the live ones. Waits for readers only briefly, so that others do not queue
 * behind it. Throws the database's errors, those of a lock among them, and the projector's unless the read model is new: then its tables
 * are exchanged as far as they are filled.
 */
export async function exchange(rebuilding: Rebuilding, readModel: NewTables): Promise<void> {
  if (readModel.failure && !readModel.isNew) throw readModel.failure;
  await finishTables(rebuilding, readModel);
  await fill(rebuilding, [readModel]);
  if (!readModel.failure) {
    try {
      return await exchangeOnce(rebuilding, readModel);
    } catch (error) {
      if (!(error instanceof ProjectorFailed)) throw error;
      readModel.failure = error;
    }
  }
  if (!readModel.isNew) throw readModel.failure;
  await exchangeOnce(rebuilding, readModel);
}

async function finishTables(rebuilding: Rebuilding, readModel: NewTables): Promise<void> {
  if (readModel.isIndexed) return;
  const { projection } = readModel;
  const schema = schemaOf(rebuilding, projection);
  await rebuilding.database.owner.transaction(async (tx) => {
    await createLateIndexes(tx, schema, projection);
    await analyse(tx, schema, projection);
  });
  readModel.isIndexed = true;
}

/**
 * Locks the live checkpoint, so that no writer writes; brings the new tables to the same position, or to the main group's if they belong to
 * it, unless their projector failed; exchanges them. New tables that are not at the main group's position get their own checkpoint.
 */
async function exchangeOnce(rebuilding: Rebuilding, readModel: NewTables): Promise<void> {
  const { projection, failure } = readModel;
  const { name, tables } = projection;
  const schema = schemaOf(rebuilding, projection);
  await rebuilding.database.owner.transaction(async (tx) => {
    await tx.query("set local lock_timeout = '300ms'");
    // The connection may have broken without a notice yet, and its locks be gone: a statement on it shows that.
    await rebuilding.lock.query("select 1");
    rebuilding.requireUnbroken();
    await lockReadModels(tx);
    const checkpoint = (await loadReadModels(tx, [name])).get(name)?.checkpoint;
    if (checkpoint) await lockCheckpoint(tx, checkpoint);
    const live = (await loadReadModels(tx, [name])).get(name);
    const main = projection.independent ? undefined : await lockCheckpoint(tx, mainGroup);
    await useSchemas(tx, [schema]);
    const end = failure ? readModel.position : Math.max(readModel.position, live?.position ?? 0, main?.position ?? 0);
    for await (const batch of batchesUpTo(rebuilding, { after: readModel.position, end }))
      await projectTogether(tx, [readModel], batch);
    await isolate(tx, schema, projection);
    await exchangeTables(tx, schema, { oldTables: live?.tables ?? [], newTables: tables });
    await storeReadModel(tx, { projection, position: end });
  });
}
