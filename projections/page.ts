import type { Tx } from "./projection.ts";

/** The contract's list envelope. */
export type Page<Row> = { data: Row[]; total: number; limit: number; offset: number };

export type PageQuery = {
  select: string;
  from: string;
  /** Joined by AND; the first one is always the workspace's. */
  where: readonly string[];
  values: readonly unknown[];
  /** A total order: ties broken by id. */
  orderBy: string;
  limit: number;
  offset: number;
  /** Where the rows are counted already: a table with a column `count`, and the same conditions on it. */
  counts?: { table: string; where: readonly string[]; values: readonly unknown[] };
  /** Where it is known how many there are. */
  total?: number | undefined;
};

/** One page, and how many there are in all: one question, unless the page is beyond the end. */
export async function page<Row extends Record<string, unknown>>(sql: Tx, query: PageQuery): Promise<Page<Row>> {
  const { select, from, where, values, orderBy, limit, offset } = query;
  const asked = [...values, limit, offset];
  const [limited, skipped] = [asked.length - 1, asked.length];
  const counted = countSql(query, asked.length);
  const { rows } = await sql.query<Row & { total_of_all: number }>(
    `select ${select}, (${counted.sql}) as total_of_all from ${from} where ${where.join(" and ")}
     order by ${orderBy} limit $${limited} offset $${skipped}`,
    [...asked, ...counted.values],
  );
  const data = rows.map(withoutTotal<Row>);
  const total = rows[0]?.total_of_all ?? (await countAlone(sql, query));
  return { data, total, limit, offset };
}

/** TypeScript cannot tell that what is left of a row of any shape, once the added column is gone, is of that shape. */
// The compiler cannot see that a row without the column that was added is that row.
const withoutTotal = <Row>({ total_of_all: _, ...row }: Row & { total_of_all: number }): Row => row as unknown as Row;

async function countAlone(sql: Tx, query: PageQuery): Promise<number> {
  const counted = countSql(query, 0);
  const values = counted.values.length > 0 ? counted.values : query.values;
  const { rows } = await sql.query<{ total: number }>(`select (${counted.sql}) as total`, values);
  return rows[0]?.total ?? 0;
}

/** How many there are, as a scalar; its own parameters, where it has any, come after those that are there. */
function countSql(
  { from, where, counts, total }: PageQuery,
  after: number,
): { sql: string; values: readonly unknown[] } {
  if (total !== undefined) return { sql: `$${after + 1}::int`, values: [total] };
  if (!counts) return { sql: `select count(*)::int from ${from} where ${where.join(" and ")}`, values: [] };
  const condition = counts.where.join(" and ").replaceAll(/\$(\d+)/g, (_, n) => `$${Number(n) + after}`);
  return { sql: `select coalesce(sum(count), 0)::int from ${counts.table} where ${condition}`, values: counts.values };
}

/** The same where finding the rows is what costs: they are found once, by their ids, for the count and for the page. */
export async function pageOfFound<Row extends Record<string, unknown>>(sql: Tx, query: PageQuery): Promise<Page<Row>> {
  const { select, from, where, values, orderBy, limit, offset } = query;
  const next = values.length + 1;
  const { rows } = await sql.query<Row & { total_of_all: number }>(
    `with found as materialized (
       select id, count(*) over ()::int as total_of_all from ${from} where ${where.join(" and ")}
       order by ${orderBy} limit $${next} offset $${next + 1}
     )
     select ${select}, total_of_all from found join ${from} using (id) order by ${orderBy}`,
    [...values, limit, offset],
  );
  const data = rows.map(withoutTotal<Row>);
  const total = rows[0]?.total_of_all ?? (await countAlone(sql, query));
  return { data, total, limit, offset };
}

/** Collects conditions whose value is given: `{n}` stands for the value's parameter. */
export function conditions(workspaceId: string, optional: readonly (readonly [string, unknown])[]) {
  const where = ["workspace_id = $1"];
  const values: unknown[] = [workspaceId];
  for (const [sql, value] of optional) {
    if (value === undefined) continue;
    values.push(value);
    where.push(sql.replaceAll("{n}", `$${values.length}`));
  }
  return { where, values };
}
