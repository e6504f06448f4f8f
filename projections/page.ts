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
};

/** One page, and how many there are in all. */
export async function page<Row extends Record<string, unknown>>(sql: Tx, query: PageQuery): Promise<Page<Row>> {
  const { select, from, where, values, orderBy, limit, offset } = query;
  const condition = where.join(" and ");
  const next = values.length + 1;
  const { rows } = await sql.query<Row>(
    `select ${select} from ${from} where ${condition} order by ${orderBy} limit $${next} offset $${next + 1}`,
    [...values, limit, offset],
  );
  const counted = await sql.query<{ total: number }>(
    `select count(*)::int as total from ${from} where ${condition}`,
    values,
  );
  return { data: rows, total: counted.rows[0]?.total ?? 0, limit, offset };
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
