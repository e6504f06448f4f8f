import { type Event, idOf, type Recorded } from "#streams/event.ts";
import type { ProjectorTx, Tx } from "./projection.ts";

/**
 * Matches NUL and lone surrogates, which PostgreSQL's text cannot hold, as written by JSON.stringify: not after an odd run of backslashes.
 */
const unstorable = /(?<!\\)((?:\\\\)*)\\u(?:0000|d[89a-f][0-9a-f]{2})/g;

/** Serialises rows as one JSON parameter. Characters that PostgreSQL's text cannot hold become U+FFFD; the log keeps the originals. */
export const jsonRows = (rows: unknown): string => JSON.stringify(rows).replace(unstorable, "$1\ufffd");

/** A table, the columns that a projector writes, and its key columns: `id`, unless `key` is given. */
export type Table = { table: string; columns: readonly string[]; key?: readonly string[] };

/** Writes whole rows, one statement for all: a row with an existing key is replaced. Rows have exactly the columns of `columns`. */
export function upsertRows(
  tx: ProjectorTx,
  { table, columns, key = ["id"] }: Table,
  rows: readonly Record<string, unknown>[],
): void {
  if (rows.length === 0) return;
  const rest = columns.filter((column) => !key.includes(column));
  const onConflict =
    rest.length === 0
      ? "do nothing"
      : `do update set ${rest.map((column) => `${column} = excluded.${column}`).join(", ")}`;
  tx.write(
    `insert into ${table} (${columns.join(", ")})
     select ${columns.join(", ")} from json_populate_recordset(null::${table}, $1::json)
     on conflict (${key.join(", ")}) ${onConflict}`,
    [jsonRows(rows)],
  );
}

/** Reads the rows with these ids, as before the batch, by id. */
export async function rowsById<Row extends { id: string }>(
  tx: Tx,
  { table, columns }: Table,
  ids: readonly string[],
): Promise<Map<string, Row>> {
  if (ids.length === 0) return new Map();
  const { rows } = await tx.query<Row>(`select ${columns.join(", ")} from ${table} where id = any($1::uuid[])`, [
    [...new Set(ids)],
  ]);
  return new Map(rows.map((row) => [row.id, row]));
}

/**
 * Returns a row as a query returns it once it is stored: with these columns, times as Dates, and without characters that PostgreSQL's text
 * cannot hold.
 */
export function asRead<Read>(
  row: Readonly<Record<string, unknown>>,
  { columns, times }: { columns: readonly string[]; times: readonly string[] },
): Read {
  const read = JSON.parse(jsonRows(Object.fromEntries(columns.map((column) => [column, row[column] ?? null]))));
  for (const time of times) if (read[time] !== null) read[time] = new Date(read[time]);
  return read;
}

/** A read model with one row per stream, whose id is the stream's. */
export type RowPerStream<Row, E extends Event> = Table & {
  /** Values of a row before its first event. */
  empty?: Partial<Row>;
  /** Returns the row after the event. */
  evolve: (row: Row, event: Recorded<E>) => Row;
};

/** Creates a projector that folds events into the rows of their streams: one read and one write per batch. */
export const foldRows =
  <Row extends { id: string }, E extends Event>({ empty, evolve, ...table }: RowPerStream<Row, E>) =>
  async (tx: ProjectorTx, events: readonly Recorded<E>[]): Promise<void> => {
    const ids = events.map((event) => idOf(event.stream));
    const rows = await rowsById<Row>(tx, table, ids);
    for (const [index, event] of events.entries()) {
      const id = ids[index] as string;
      rows.set(id, evolve(rows.get(id) ?? ({ ...empty, id } as Row), event));
    }
    upsertRows(tx, table, [...rows.values()]);
  };

/** Renames facts to their columns; drops facts without one. */
export const toColumns = (columnOf: Readonly<Record<string, string>>, facts: object): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(facts).flatMap(([name, value]) => (Object.hasOwn(columnOf, name) ? [[columnOf[name], value]] : [])),
  );
