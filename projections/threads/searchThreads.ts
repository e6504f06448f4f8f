import {
  conditions,
  inOrder,
  type Order,
  type Page,
  type PageQuery,
  readPage,
  readPageByIds,
  type Window,
} from "../page.ts";
import type { Tx } from "../projection.ts";
import type { Reads } from "../reads.ts";
import { nothing, prepareSearch, type SearchConditions, type SearchTexts, someThreadsWith } from "../search/queries.ts";

/** Numbers by which a search chooses its way, and up to which it counts. */
export type SearchLimits = {
  /** Number up to which the threads found are counted. */
  mostCounted: number;
  /** A search looks at a list's first threads; with fewer hits among them it asks the index of words. */
  firstThreads: number;
  leastHits: number;
  /** Maximum number of threads that a walk checks, to count or to find a page; a multiple for pages that end beyond row `mostCounted`. */
  longestWalk: number;
  /** Number of messages that the index of words returns at most, before all matching threads are looked up. */
  mostMessages: number;
  /** A list with at most this many threads is walked to its end. */
  fewThreads: number;
  /** Called with the way on which the page was found. */
  onChoice?: (way: SearchWay) => void;
};

export type SearchWay = "walk" | "few" | "lookUp";

export const searchLimits: SearchLimits = {
  mostCounted: 1_000,
  firstThreads: 60,
  leastHits: 45,
  longestWalk: 5_000,
  mostMessages: 5_000,
  fewThreads: 200,
};

type Conditions = Parameters<typeof conditions>[1];

/** A search in a list of threads: the list's filters and order, what is searched for, and the part of the list that is wanted. */
export type ThreadSearch = {
  select: string;
  filters: Conditions;
  order: Order;
  texts: SearchTexts;
  window: Window;
  limits?: SearchLimits | undefined;
};

/**
 * Returns the threads of a list that a search finds. All three ways find the same; the first that is cheap is taken:
 * - `walk`: checks one thread after the other, in the list's order, until the page is full and more than `mostCounted` threads are counted.
 *   Taken for a short list, and if many of the list's first threads match.
 * - `few`: asks the index of words for `mostMessages` messages. If there are fewer, checks only their threads. If not, and more than
 *   `mostCounted` of their threads match, the total is known to be capped, and a walk is tried for the page.
 * - `lookUp`: finds all matching threads by the index of words.
 */
export function searchThreads<Row extends Record<string, unknown>>(
  reads: Reads,
  workspaceId: string,
  { filters, texts, limits = searchLimits, ...list }: ThreadSearch,
): Promise<Page<Row>> {
  const listed = { ...list, from: "threads", countedTo: limits.mostCounted };
  const having = (search: Conditions): PageQuery => ({
    ...listed,
    ...conditions(workspaceId, [...filters, ...search]),
  });
  return reads.snapshot(workspaceId, async (snapshot) => {
    const sql = snapshot.of(workspaceId);
    const search = await prepareSearch(sql, texts);
    if (!search) return readPage<Row>(sql, having(nothing));
    const filtersOfList = conditions(workspaceId, filters).where.length;
    const found = await pageWithoutLookUp<Row>({ sql, search, having, filters: filtersOfList, limits });
    limits.onChoice?.(found?.way ?? "lookUp");
    return found?.page ?? readPageByIds<Row>(sql, having(search.lookUp));
  });
}

/** A search in a list whose first `filters` conditions are its own; `having` adds those of the search. */
type Searching = {
  sql: Tx;
  search: SearchConditions;
  having(search: Conditions): PageQuery;
  filters: number;
  limits: SearchLimits;
};

type Found<Row> = { way: SearchWay; page: Page<Row> };

/** Returns the page, unless only a look-up of all threads finds it. */
async function pageWithoutLookUp<Row extends Record<string, unknown>>(
  searching: Searching,
): Promise<Found<Row> | undefined> {
  const { sql, search, having, limits } = searching;
  const walk = { ...having(search.walk), filters: searching.filters };
  const isShort = (await countListed(sql, walk, limits.fewThreads + 1)) <= limits.fewThreads;
  let total = await (isShort ? countAmongFew : countAmongMany)(sql, walk, limits);
  if (total === undefined && search.first) {
    const some = await someThreadsWith(sql, search.first.wanted, limits.mostMessages);
    const few = having([["id = any({n}::uuid[])", some.ids], ...search.first.others]);
    if (some.areAll) return { way: "few", page: await readPageByIds<Row>(sql, few) };
    total = moreThan(limits.mostCounted, await countRows(sql, few, limits.mostCounted + 1));
  }
  const page = total === undefined ? undefined : await pageByWalking<Row>(sql, { ...walk, total }, limits);
  return page && { way: "walk", page };
}

/**
 * A list searched by a walk: the first `filters` of its conditions and values are those of the list, the others those of the search.
 */
type Walk = PageQuery & { filters: number };

/** Returns the page that a walk finds; undefined if the walk reaches its maximum (`longestWalk`) before the page is full. */
async function pageByWalking<Row extends Record<string, unknown>>(
  sql: Tx,
  walk: Walk,
  { longestWalk, mostCounted }: SearchLimits,
): Promise<Page<Row> | undefined> {
  const { offset, limit } = walk.window;
  const most = longestWalk * Math.ceil((offset + limit + 1) / mostCounted);
  const page = await readPage<Row>(sql, { ...walk, among: { where: walk.where.slice(0, walk.filters), most } });
  return page.next !== null || (await countListed(sql, walk, most + 1)) <= most ? page : undefined;
}

/** Returns the number of threads of the list, found or not, at most `most`. */
const countListed = (sql: Tx, { where, values, filters }: Walk, most: number): Promise<number> =>
  countRows(sql, { from: "threads", where: where.slice(0, filters), values: values.slice(0, filters) }, most);

/** Returns the number of threads found in a short list, at most `mostCounted` + 1. */
const countAmongFew = (sql: Tx, walk: Walk, { fewThreads, mostCounted }: SearchLimits): Promise<number> =>
  hits(sql, walk, { among: fewThreads, most: mostCounted + 1 });

/** Returns `mostCounted` + 1 if so many threads are found; undefined if a walk does not find them fast. */
async function countAmongMany(sql: Tx, walk: Walk, limits: SearchLimits): Promise<number | undefined> {
  const { mostCounted, firstThreads, leastHits, longestWalk } = limits;
  if ((await hits(sql, walk, { among: firstThreads, most: leastHits })) < leastHits) return undefined;
  return moreThan(mostCounted, await hits(sql, walk, { among: longestWalk, most: mostCounted + 1 }));
}

const moreThan = (least: number, count: number): number | undefined => (count > least ? count : undefined);

/** Returns how many of the list's first threads the search finds, at most `most`. */
function hits(
  sql: Tx,
  { where, values, filters, order }: Walk,
  { among, most }: { among: number; most: number },
): Promise<number> {
  const first = `select id, primary_contact_id from threads where ${where.slice(0, filters).join(" and ")} order by ${inOrder(order)} limit ${among}`;
  return countRows(sql, { from: `(${first}) threads`, where: where.slice(filters), values }, most);
}

/** Counts rows, at most `most`. */
async function countRows(
  sql: Tx,
  { from, where, values }: Pick<PageQuery, "from" | "where" | "values">,
  most: number,
): Promise<number> {
  const found = `select from ${from} where ${where.join(" and ")} limit ${most}`;
  const { rows } = await sql.query<{ count: number }>(`select count(*)::int from (${found}) found`, values);
  return rows[0]!.count;
}
