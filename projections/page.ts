import type { Tx } from "./projection.ts";

/** Cursor at the end of a page: the values of its last row in the columns of the list's order, as PostgreSQL writes them in JSON. */
export type Cursor = readonly (string | number)[];

/** Part of a list: the rows after a cursor, or else after the first `offset` rows. */
export type Window = { limit: number; offset: number; after?: Cursor | undefined };

/**
 * Part of a list, the number of rows of the whole list, and the cursor of the next part (null at the end). `total_capped`: there are more
 * rows than `total`.
 */
export type Page<Row> = {
  data: Row[];
  total: number;
  total_capped?: true;
  limit: number;
  offset: number;
  next: Cursor | null;
};

/**
 * A total order: columns without nulls, the last of them unique. All have one direction, so that one row comparison finds the rows after a
 * cursor, and an index on the columns leads straight there. An index whose last column has the other direction does so too: only rows equal
 * up to that column remain to be sorted.
 */
export type Order = { columns: readonly string[]; direction: "asc" | "desc" };

/** Order by time of creation, the newest first. */
export const newestFirst: Order = { columns: ["created_at", "id"], direction: "desc" };

export type PageQuery = {
  select: string;
  from: string;
  /** Conditions joined by AND; the first one is always the workspace's. */
  where: readonly string[];
  values: readonly unknown[];
  order: Order;
  window: Window;
  /** Table with stored counts in a column `count`, and the same conditions on it, if there is one. */
  counts?: { table: string; where: readonly string[]; values: readonly unknown[] };
  /** Total number of rows, if known. */
  total?: number | undefined;
  /** Number up to which rows are counted. */
  countedTo?: number;
  /**
   * Reads the page only from the first `most` rows after the cursor that meet `where`. If the page is not full, `next` is null although
   * further rows may match.
   */
  among?: { where: readonly string[]; most: number };
};

/** Reads one page and the total: one query, unless the page is beyond the end. */
export async function readPage<Row extends Record<string, unknown>>(sql: Tx, query: PageQuery): Promise<Page<Row>> {
  const { select, from, where, values, order, among } = query;
  const part = partOf(query, order.columns, values.length);
  const first = among && [...among.where, ...part.where].join(" and ");
  const looked = among
    ? `(select * from ${from} where ${first} order by ${inOrder(order)} limit ${among.most}) ${from}`
    : from;
  const asked = [...values, ...part.values];
  const counted = countSql(query, asked.length);
  const { rows } = await sql.query<Row & AddedColumns>(
    `select ${select}, json_build_array(${order.columns.join(", ")}) as place, (${counted.sql}) as total_of_all
     from ${looked} where ${[...where, ...part.where].join(" and ")} ${part.rest}`,
    [...asked, ...counted.values],
  );
  return pageOf(sql, query, rows);
}

/** Like `readPage`, for expensive conditions: finds the rows once, by their ids, for the count and for the page. */
export async function readPageByIds<Row extends Record<string, unknown>>(
  sql: Tx,
  query: PageQuery,
): Promise<Page<Row>> {
  const { select, from, where, values, order } = query;
  const keys = order.columns.map((_, index) => `key_${index}`);
  const part = partOf(query, keys, values.length);
  const { rows } = await sql.query<Row & AddedColumns>(
    `with found as materialized (
       select id as found_id, ${order.columns.map((column, index) => `${column} as key_${index}`).join(", ")}
       from ${from} where ${where.join(" and ")}
     ), part as (
       select * from found where ${["true", ...part.where].join(" and ")} ${part.rest}
     )
     select ${select}, json_build_array(${keys.join(", ")}) as place, (select count(*)::int from found) as total_of_all
     from part join ${from} on id = found_id order by ${inOrder({ ...order, columns: keys })}`,
    [...values, ...part.values],
  );
  return pageOf(sql, query, rows);
}

/** Additional columns of each row. */
type AddedColumns = { place: Cursor; total_of_all: number };

/** Returns an order for ORDER BY. */
export const inOrder = ({ columns, direction }: Order): string =>
  columns.map((column) => `${column} ${direction}`).join(", ");

/**
 * Returns the conditions, order and limits of a window, their parameters numbered from `first` + 1. One additional row shows whether more
 * follow.
 */
function partOf({ order, window }: PageQuery, columns: readonly string[], first: number) {
  const { limit, offset, after = [] } = window;
  const next = first + after.length;
  const place = after.map((_, index) => `$${first + index + 1}`).join(", ");
  const comesAfter = `(${columns.join(", ")}) ${order.direction === "asc" ? ">" : "<"} (${place})`;
  return {
    where: after.length > 0 ? [comesAfter] : [],
    rest: `order by ${inOrder({ ...order, columns })} limit $${next + 1} offset $${next + 2}`,
    values: [...after, limit + 1, offset],
  };
}

async function pageOf<Row extends Record<string, unknown>>(
  sql: Tx,
  query: PageQuery,
  rows: readonly (Row & AddedColumns)[],
): Promise<Page<Row>> {
  const { limit, offset } = query.window;
  const shown = rows.slice(0, limit);
  const counted = rows[0]?.total_of_all ?? (await countAlone(sql, query));
  const next = rows.length > limit ? (shown.at(-1)?.place ?? null) : null;
  return { data: shown.map(withoutBeside<Row>), ...totalOf(counted, query), limit, offset, next };
}

const totalOf = (
  counted: number,
  { countedTo = Infinity }: PageQuery,
): Pick<Page<unknown>, "total" | "total_capped"> =>
  counted > countedTo ? { total: countedTo, total_capped: true } : { total: counted };

// Removes the added columns; the cast is needed because the compiler cannot infer the result.
const withoutBeside = <Row>({ place: _, total_of_all: __, ...row }: Row & AddedColumns): Row => row as unknown as Row;

async function countAlone(sql: Tx, query: PageQuery): Promise<number> {
  const counted = countSql(query, 0);
  const values = counted.values.length > 0 ? counted.values : query.values;
  const { rows } = await sql.query<{ total: number }>(`select (${counted.sql}) as total`, values);
  return rows[0]?.total ?? 0;
}

/** Returns SQL for the total as a scalar; its own parameters, if any, follow the existing ones. */
function countSql(
  { from, where, counts, total, countedTo }: PageQuery,
  after: number,
): { sql: string; values: readonly unknown[] } {
  if (total !== undefined) return { sql: `$${after + 1}::int`, values: [total] };
  if (!counts) {
    const counted = `select from ${from} where ${where.join(" and ")}`;
    const limited = countedTo === undefined ? counted : `${counted} limit ${countedTo + 1}`;
    return { sql: `select count(*)::int from (${limited}) counted`, values: [] };
  }
  const condition = counts.where.join(" and ").replaceAll(/\$(\d+)/g, (_, n) => `$${Number(n) + after}`);
  return { sql: `select coalesce(sum(count), 0)::int from ${counts.table} where ${condition}`, values: counts.values };
}

/** Collects the conditions whose value is given: `{n}` becomes the value's parameter, `{m}` that of a second value. */
export function conditions(workspaceId: string, optional: readonly (readonly [string, unknown, unknown?])[]) {
  const where = ["workspace_id = $1"];
  const values: unknown[] = [workspaceId];
  for (const [sql, value, second] of optional) {
    if (value === undefined) continue;
    values.push(value);
    const first = values.length;
    if (second !== undefined) values.push(second);
    where.push(sql.replaceAll("{n}", `$${first}`).replaceAll("{m}", `$${values.length}`));
  }
  return { where, values };
}

/** Returns one page of rows that are in memory. `keyOf`: the values that the list is ordered by, the last of them unique. */
export function pageOfRows<Row>(
  rows: readonly Row[],
  { keyOf, direction, window }: { keyOf: (row: Row) => Cursor; direction: Order["direction"]; window: Window },
): Page<Row> {
  const { limit, offset, after } = window;
  const compare = (a: Cursor, b: Cursor): number => (direction === "asc" ? inTurn(a, b) : inTurn(b, a));
  const ordered = rows.toSorted((a, b) => compare(keyOf(a), keyOf(b)));
  const rest = after ? ordered.filter((row) => compare(keyOf(row), after) > 0) : ordered.slice(offset);
  const data = rest.slice(0, limit);
  return { data, total: rows.length, limit, offset, next: rest.length > limit ? keyOf(data.at(-1) as Row) : null };
}

/** Compares two cursors by their first values that differ. */
function inTurn(a: Cursor, b: Cursor): number {
  const index = a.findIndex((value, at) => value !== b[at]);
  return index === -1 ? 0 : (a[index] as string) < (b[index] as string) ? -1 : 1;
}
