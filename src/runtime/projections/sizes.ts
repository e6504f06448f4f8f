import type { Projection } from "#projections/projection.ts";
import type { Sql } from "#src/platform/postgres/database.ts";
import { liveSchema } from "./projectionTables.ts";

/** Size of tables, for people. `tables`: with TOAST. `rows`: PostgreSQL's estimate. */
export type TableSize = { name: string; rows: number; tables: string; indexes: string };

/** Columns of a size over rows of pg_class. A table that was never analysed is estimated by its statistics. */
const sizeColumns = `
  sum(case when reltuples < 0 then pg_stat_get_live_tuples(c.oid) else reltuples end)::bigint as rows,
  pg_size_pretty(sum(pg_table_size(c.oid))) as tables, pg_size_pretty(sum(pg_indexes_size(c.oid))) as indexes`;

/** Returns the size of each read model that has tables, by its name. */
export async function readModelSizes(
  sql: Sql,
  projections: readonly Pick<Projection, "name" | "tables">[],
): Promise<Map<string, TableSize>> {
  const tables = projections.flatMap(({ name, tables }) => tables.map((table) => [name, table]));
  const { rows } = await sql.query<TableSize>(
    `select model.name, ${sizeColumns}
     from unnest($1::text[], $2::text[]) as model (name, relname) join pg_class c using (relname)
     where relnamespace = $3::regnamespace group by model.name`,
    [tables.map(([name]) => name), tables.map(([, table]) => table), liveSchema],
  );
  return new Map(rows.map((row) => [row.name, row]));
}

/** Returns the largest tables besides those of live read models, also those of a rebuild. */
export async function largestOtherTables(sql: Sql, count: number): Promise<TableSize[]> {
  const { rows } = await sql.query<TableSize>(
    `select nspname || '.' || relname as name, ${sizeColumns}
     from pg_class c join pg_namespace n on n.oid = relnamespace
     where relkind = 'r' and nspname not in ($1, 'pg_catalog', 'information_schema')
     group by nspname, relname order by sum(pg_total_relation_size(c.oid)) desc, name limit $2`,
    [liveSchema, count],
  );
  return rows;
}
