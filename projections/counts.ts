import { json, type ProjectorTx } from "./projection.ts";

/**
 * A table with the number of rows of another table for each combination of these columns, which hold no null; a combination without rows
 * has no row.
 */
export type Counts = { table: string; dimensions: readonly string[] };

type Row = Record<string, unknown>;

/** Updates the counts by a batch's rows before and after it. Rows not to be counted, or removed, are not in `after`. */
export function updateCounts(
  tx: Pick<ProjectorTx, "write">,
  counts: Counts,
  { before, after }: { before: readonly Row[]; after: readonly Row[] },
): void {
  const { table, dimensions } = counts;
  const changes = new Map<string, Row & { count: number }>();
  const change = (by: number) => (row: Row) => {
    const place = Object.fromEntries(dimensions.map((dimension) => [dimension, row[dimension]]));
    const key = json(place);
    const known = changes.get(key) ?? { ...place, count: 0 };
    changes.set(key, { ...known, count: known.count + by });
  };
  before.forEach(change(-1));
  after.forEach(change(1));
  const moved = [...changes.values()].filter(({ count }) => count !== 0);
  if (moved.length === 0) return;
  const columns = dimensions.join(", ");
  const ofMoved = `from json_populate_recordset(null::${table}, $1::json)`;
  addCounts(tx, counts, { select: `select ${columns}, count ${ofMoved}`, values: [json(moved)] });
  const lower = moved.filter(({ count }) => count < 0);
  if (lower.length === 0) return;
  tx.write(`delete from ${table} where count = 0 and (${columns}) in (select ${columns} ${ofMoved})`, [json(lower)]);
}

/** Adds to the counts what `select` returns: the dimensions, then a count, negative for rows that are removed. May leave counts of zero. */
export function addCounts(
  tx: Pick<ProjectorTx, "write">,
  { table, dimensions }: Counts,
  { select, values }: { select: string; values: readonly unknown[] },
): void {
  const columns = dimensions.join(", ");
  tx.write(
    `insert into ${table} (${columns}, count) ${select}
     on conflict (${columns}) do update set count = ${table}.count + excluded.count`,
    values,
  );
}
