import type { Projection } from "#projections/projection.ts";
import type { Sql } from "#src/platform/postgres/database.ts";
import { seeEveryWorkspace } from "#src/platform/postgres/reads.ts";
import { loadReadModels, projectTogether } from "./checkpoints.ts";
import { createTables, liveSchema, quoteIdentifier, serviceRoleOf } from "./projectionTables.ts";
import { pruneReplayed } from "./prune.ts";
import type { RebuildOptions } from "./rebuild.ts";
import { batchesUpTo } from "./replay.ts";

/** A row, as JSON text, that only one side has. */
export type RowDifference = { table: string; side: "live" | "replayed"; row: string };

export type Verified = { position: number; rows: number; differences: RowDifference[]; differing: number };

/**
 * Replays a projection up to exactly the position of its live tables and compares every row both ways. Live tables and checkpoint are read
 * in one snapshot; the replay happens in the same transaction, which is rolled back, so nothing remains. Old rows that were removed from
 * the live tables are removed from the replayed ones too. `differing` counts all differences, `differences` holds the first `limit` of each
 * table.
 */
export async function verify(replay: RebuildOptions, projection: Projection, limit = 20): Promise<Verified> {
  const ddl = await replay.tablesSql(projection);
  const serviceRole = await serviceRoleOf(replay.database);
  let result: Verified | undefined;
  const schema = `verify_${projection.name}`;
  await rolledBack(replay, async (tx) => {
    await tx.query("set transaction isolation level repeatable read");
    await tx.query(seeEveryWorkspace);
    const position = (await loadReadModels(tx, [projection.name])).get(projection.name)?.position ?? 0;
    await tx.query(`create schema ${quoteIdentifier(schema)}`);
    await createTables(tx, schema, { projection, ddl, serviceRole });
    const progress = { projection, position: 0 };
    const analyse = analyseSeldom(tx);
    for await (const batch of batchesUpTo(replay, { after: 0, end: position })) {
      await projectTogether(tx, [progress], batch);
      await analyse(projection.tables);
    }
    await pruneReplayed(tx, projection);
    result = { position, ...(await compareAll(tx, schema, { tables: projection.tables, limit })) };
  });
  return result!;
}

class RolledBack extends Error {}

async function rolledBack({ database }: RebuildOptions, work: (tx: Sql) => Promise<void>): Promise<void> {
  try {
    await database.owner.transaction(async (tx) => {
      await work(tx);
      throw new RolledBack();
    });
  } catch (thrown) {
    if (!(thrown instanceof RolledBack)) throw thrown;
  }
}

/**
 * Analyses the tables after 1, 2, 4, … batches. Autovacuum cannot see them in this transaction, and without statistics the query planner
 * takes them for empty.
 */
function analyseSeldom(tx: Sql): (tables: readonly string[]) => Promise<void> {
  let batches = 0;
  return async (tables) => {
    batches += 1;
    const isPowerOfTwo = (batches & (batches - 1)) === 0;
    if (isPowerOfTwo && tables.length > 0) await tx.query(`analyze ${tables.map(quoteIdentifier).join(", ")}`);
  };
}

async function compareAll(
  tx: Sql,
  schema: string,
  { tables, limit }: { tables: readonly string[]; limit: number },
): Promise<Omit<Verified, "position">> {
  const result: Omit<Verified, "position"> = { rows: 0, differences: [], differing: 0 };
  for (const table of tables) {
    const live = `${quoteIdentifier(liveSchema)}.${quoteIdentifier(table)}`;
    const replayed = `${quoteIdentifier(schema)}.${quoteIdentifier(table)}`;
    const { rows } = await tx.query<{ count: number }>(`select count(*) as count from ${live}`);
    result.rows += rows[0]!.count;
    for (const [side, these, those] of [
      ["live", live, replayed],
      ["replayed", replayed, live],
    ] as const) {
      const only = await onlyIn(tx, { these, those, limit });
      result.differing += only.count;
      result.differences.push(...only.rows.map((row) => ({ table, side, row })));
    }
  }
  return result;
}

async function onlyIn(
  tx: Sql,
  { these, those, limit }: { these: string; those: string; limit: number },
): Promise<{ count: number; rows: string[] }> {
  const { rows } = await tx.query<{ row: string; count: number }>(
    `select row, count(*) over () as count from (
       select to_jsonb(one)::text as row from ${these} one except all select to_jsonb(other)::text from ${those} other
     ) difference order by row limit ${limit}`,
  );
  return { count: rows[0]?.count ?? 0, rows: rows.map(({ row }) => row) };
}
