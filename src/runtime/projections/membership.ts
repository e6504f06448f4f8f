import type { Projection } from "#projections/projection.ts";
import type { EventStore } from "#src/eventStore/eventStore.ts";
import type { Database, Sql } from "#src/platform/postgres/database.ts";
import {
  type Checkpoint,
  CheckpointMoved,
  loadReadModels,
  mainGroup,
  type Progress,
  projectTogether,
  type StoredReadModel,
} from "./checkpoints.ts";
import { batchesUpTo, rebuildLock } from "./replay.ts";

/** Locks the set of read models and the checkpoints they are at, for the rest of the transaction. */
export async function lockReadModels(tx: Sql): Promise<void> {
  await tx.query("select pg_advisory_xact_lock(727277)");
}

/** Locks a checkpoint against its writer, for the rest of the transaction. */
export async function lockCheckpoint(tx: Sql, name: string): Promise<Checkpoint | undefined> {
  const { rows } = await tx.query<Checkpoint>(
    "select name, position, generation from work.checkpoints where name = $1 for update",
    [name],
  );
  return rows[0];
}

async function setCheckpoints(tx: Sql, names: readonly string[], position: number): Promise<void> {
  await tx.query(
    `insert into work.checkpoints as stored (name, position) select unnest($1::text[]), $2
     on conflict (name) do update set position = $2, generation = stored.generation + 1, updated_at = clock_timestamp()`,
    [names, position],
  );
}

/** Fences out writers that do not know the new set of read models at a checkpoint. */
async function raiseGeneration(tx: Sql, name: string): Promise<void> {
  await tx.query("update work.checkpoints set generation = generation + 1 where name = $1", [name]);
}

/** Version of empty tables, which stand where a rebuild will put filled ones. */
export const unfilledVersion = 0;

/** Stores that a read model has empty tables, which no loop fills. Call `lockReadModels` before. */
export async function storeUnfilled(tx: Sql, { name, tables }: Projection): Promise<void> {
  const before = (await loadReadModels(tx, [name])).get(name)?.checkpoint;
  await setCheckpoints(tx, [name], 0);
  await storeTables(tx, { name, version: unfilledVersion, tables, checkpoint: name });
  if (before === mainGroup) await raiseGeneration(tx, mainGroup);
}

/** Stores that empty tables have all there is: those of an empty log. */
export const storeFilled = (database: Database, projections: readonly Projection[]): Promise<void> =>
  database.owner.transaction(async (tx) => {
    await lockReadModels(tx);
    for (const projection of projections) await storeReadModel(tx, { projection, position: 0 });
  });

async function storeTables(
  tx: Sql,
  stored: Omit<StoredReadModel, "position" | "generation" | "rebuilt_to">,
): Promise<void> {
  const { name, version, tables, checkpoint } = stored;
  await tx.query(
    `insert into work.read_models (name, version, tables, checkpoint) values ($1, $2, $3, $4)
     on conflict (name) do update set version = $2, tables = $3, checkpoint = $4, rebuilt_to = null, pruned_until = null`,
    [name, version, tables, checkpoint],
  );
}

/**
 * Stores a read model's version, tables and position. A read model that is not independent enters the main group, or stays in it, if the
 * group is at that position or empty; any other gets its own checkpoint. Call `lockReadModels` before.
 */
export async function storeReadModel(tx: Sql, { projection, position }: Progress): Promise<void> {
  const { name, version, tables, independent } = projection;
  const before = (await loadReadModels(tx, [name])).get(name)?.checkpoint;
  const isThere = (await lockCheckpoint(tx, mainGroup))?.position === position;
  const isMain = !independent && (isThere || (await isEmpty(tx)));
  if (isMain && !isThere) await setCheckpoints(tx, [mainGroup], position);
  if (!isMain) await setCheckpoints(tx, [name], position);
  await storeTables(tx, { name, version, tables, checkpoint: isMain ? mainGroup : name });
  if (isMain || before === mainGroup) await raiseGeneration(tx, mainGroup);
  if (isMain) await tx.query("delete from work.checkpoints where name = $1", [name]);
}

/** Ejects read models from the main group: gives them their own checkpoints, so that the group can continue. Throws CheckpointMoved. */
export async function eject(database: Database, main: Checkpoint, names: readonly string[]): Promise<void> {
  await database.transaction(async (tx) => {
    await lockReadModels(tx);
    const stored = await lockCheckpoint(tx, mainGroup);
    if (stored?.position !== main.position || stored.generation !== main.generation)
      throw new CheckpointMoved("the main group was moved by another writer");
    await setCheckpoints(tx, names, main.position);
    await tx.query("update work.read_models set checkpoint = name where name = any($1)", [names]);
    await raiseGeneration(tx, mainGroup);
  });
}

async function isEmpty(tx: Sql): Promise<boolean> {
  return (await tx.query("select 1 from work.read_models where checkpoint = $1 limit 1", [mainGroup])).rowCount === 0;
}

/**
 * Brings an ejected read model to the main group's position and lets it rejoin, in one transaction, for which the group waits. False if it
 * cannot rejoin yet: it is ahead of the group, or being rebuilt. Throws CheckpointMoved, ProjectorFailed.
 */
export async function rejoin(
  { database, store, signal }: { database: Database; store: EventStore; signal: AbortSignal },
  projection: Projection,
  own: Checkpoint,
): Promise<boolean> {
  return database.transaction(async (tx) => {
    const { rows } = await tx.query<{ free: boolean }>(
      `select pg_try_advisory_xact_lock(${rebuildLock("$1")}) as free`,
      [projection.name],
    );
    if (!rows[0]!.free) return false;
    await lockReadModels(tx);
    const main = await lockCheckpoint(tx, mainGroup);
    const stored = await lockCheckpoint(tx, own.name);
    if (!main || stored?.position !== own.position || stored.generation !== own.generation)
      throw new CheckpointMoved(`the checkpoint ${own.name} was moved by another writer`);
    if (own.position > main.position && !(await isEmpty(tx))) return false;
    const progress = { projection, position: own.position };
    const end = Math.max(own.position, main.position);
    for await (const batch of batchesUpTo({ store, signal }, { after: own.position, end }))
      await projectTogether(tx, [progress], batch);
    await tx.query("update work.read_models set checkpoint = $2 where name = $1", [projection.name, mainGroup]);
    await tx.query("delete from work.checkpoints where name = $1", [own.name]);
    await tx.query("update work.checkpoints set position = $2, generation = generation + 1 where name = $1", [
      mainGroup,
      end,
    ]);
    return true;
  });
}
