import type { Batch } from "#src/eventStore/eventStore.ts";
import { loadReadModels, mainGroup, type Progress, ProjectorFailed, projectTogether } from "./checkpoints.ts";
import { useSchemas } from "./projectionTables.ts";
import { type NewTables, type Rebuilding, type RebuildOptions, schemaOf } from "./rebuilding.ts";
import { batchesUpTo } from "./replay.ts";
import { asError, backoffMs, endsByItself, pause } from "./retrying.ts";

/** Maximum number of passes over the log: each fills up to its end as it was when the pass began. */
const mostPasses = 3;
const noteEveryMs = 1_000;

/**
 * Fills new tables up to `endOf`, in at most three passes, because events are added meanwhile. A projector that fails is left out of the
 * rest. After a failure that ends by itself, such as an unreachable event store, filling continues from the positions reached.
 */
export async function fill(rebuilding: Rebuilding, readModels: readonly NewTables[]): Promise<void> {
  for (let failures = 0; ; failures++) {
    try {
      return await fillOnce(rebuilding, readModels);
    } catch (error) {
      rebuilding.requireUnbroken();
      if (!endsByItself(error)) throw error;
      const projections = readModels.map(({ projection }) => projection.name);
      if (failures === 0) rebuilding.onWaiting?.({ projections, err: asError(error) });
      await pause(backoffMs(failures + 1), rebuilding.signal);
    }
  }
}

async function fillOnce(rebuilding: Rebuilding, readModels: readonly NewTables[]): Promise<void> {
  const sound = (): NewTables[] => readModels.filter(({ failure }) => !failure);
  const note = noteProgress(rebuilding, readModels);
  const halves = [true, false].map((isMain) =>
    readModels.filter(({ projection }) => !projection.independent === isMain),
  );
  for (let pass = 1; pass <= mostPasses && sound().length > 0; pass++) {
    const after = Math.min(...sound().map(({ position }) => position));
    const end = await endOf(rebuilding, readModels);
    for await (const batch of batchesUpTo(rebuilding, { after, end })) {
      // Two transactions at once: while PostgreSQL writes the rows of one, this process makes those of the other.
      const written = await Promise.allSettled(halves.map((half) => writeBatch(rebuilding, half, batch)));
      for (const half of written) if (half.status === "rejected") throw half.reason;
      if (sound().length === 0) return;
      await note(batch.position);
    }
  }
}

/** The main group's position, if one of the read models belongs to it; otherwise, or if there is no group yet, the end of the log. */
async function endOf({ database, store }: RebuildOptions, readModels: readonly Progress[]): Promise<number> {
  const stored = [...(await loadReadModels(database)).values()];
  const main = stored.find(({ checkpoint }) => checkpoint === mainGroup);
  return main && readModels.some(({ projection }) => !projection.independent) ? main.position : store.head();
}

/** Writes a batch into all tables that are not beyond it, in one transaction. */
async function writeBatch(rebuilding: Rebuilding, readModels: readonly NewTables[], batch: Batch): Promise<void> {
  for (;;) {
    const behind = readModels.filter(({ failure, position }) => !failure && position < batch.position);
    if (behind.length === 0) return;
    try {
      await rebuilding.database.owner.transaction(async (tx) => {
        await tx.query("set local synchronous_commit = off");
        const schemas = behind.map(({ projection }) => schemaOf(rebuilding, projection));
        await useSchemas(tx, schemas);
        await projectTogether(tx, behind, batch);
      });
      rebuilding.requireUnbroken();
      for (const readModel of behind) readModel.position = batch.position;
      return;
    } catch (error) {
      if (!(error instanceof ProjectorFailed)) throw error;
      behind.find(({ projection }) => projection.name === error.projection)!.failure = error;
    }
  }
}

/** Stores now and then how far a rebuild is, for the answers of all instances meanwhile. */
function noteProgress(
  { database }: RebuildOptions,
  readModels: readonly Progress[],
): (position: number) => Promise<void> {
  let notedAt = -Infinity;
  return async (position) => {
    if (performance.now() - notedAt < noteEveryMs) return;
    notedAt = performance.now();
    await database.query("update work.read_models set rebuilt_to = $2 where name = any($1)", [
      readModels.map(({ projection }) => projection.name),
      position,
    ]);
  };
}
