import type { Projection, ProjectorTx } from "#projections/projection.ts";
import type { DatabaseRole, Sql } from "#src/platform/postgres/database.ts";
import { loadReadModels } from "./checkpoints.ts";
import { lockCheckpoint } from "./membership.ts";
import { quoteIdentifier } from "./projectionTables.ts";

/** A projection whose old rows may be removed. */
export type PrunableProjection = Projection & Required<Pick<Projection, "prune">>;

/** Number of rows of the declared table that one transaction removes: few, because projectors wait meanwhile. */
const batchSize = 500;

/**
 * Removes up to a batch of a read model's oldest live rows whose time is at or before `until`, and stores up to which time they are gone.
 * The checkpoint is locked, so no projector and no other instance writes these rows meanwhile. Returns false if none was left.
 */
export function pruneBatch(
  database: DatabaseRole,
  projection: PrunableProjection,
  { until, size = batchSize }: { until: Date; size?: number },
): Promise<boolean> {
  return database.transaction(async (tx) => {
    const checkpoint = (await loadReadModels(tx, [projection.name])).get(projection.name)?.checkpoint;
    if (checkpoint === undefined) return false;
    await lockCheckpoint(tx, checkpoint);
    const prunedUntil = await removeOldest(tx, projection, { until: until.toISOString(), size });
    if (prunedUntil === null) return false;
    await tx.query("update work.read_models set pruned_until = $2 where name = $1", [projection.name, prunedUntil]);
    return true;
  });
}

/** Removes from replayed tables, which are on the search path, what is gone from the live tables. */
export async function pruneReplayed(tx: Sql, projection: Projection): Promise<void> {
  const { name, prune } = projection;
  if (prune === undefined) return;
  const { rows } = await tx.query<{ until: string | null }>(
    "select pruned_until::text as until from work.read_models where name = $1",
    [name],
  );
  const until = rows[0]?.until ?? null;
  if (until === null) return;
  while ((await removeOldest(tx, { ...projection, prune }, { until, size: batchSize })) !== null);
}

/** Returns the time up to which rows were removed, that time included; null if there were none. Times are text, to the microsecond. */
async function removeOldest(
  tx: Sql,
  { prune: { table, key, time, remove } }: PrunableProjection,
  { until, size }: { until: string; size: number },
): Promise<string | null> {
  const [id, at] = [key, time].map(quoteIdentifier);
  // Rows of the same time are removed together, so that one time says which are gone.
  const { rows } = await tx.query<{ key: string; at: string }>(
    `select ${id} as key, ${at}::text as at from ${quoteIdentifier(table)} where ${at} <= $1
     order by ${at} fetch first ${size} rows with ties`,
    [until],
  );
  if (rows.length === 0) return null;
  const writes: Promise<unknown>[] = [];
  const write: ProjectorTx["write"] = (text, values = []) => void writes.push(tx.query(text, values));
  await remove(
    { query: tx.query, write },
    rows.map((row) => row.key),
  );
  await Promise.all(writes);
  return rows.at(-1)!.at;
}
