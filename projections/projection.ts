import type { Event, Recorded } from "#streams/event.ts";

/** Executes SQL, within a transaction or without one. */
export type Tx = {
  query<Row extends Record<string, unknown> = Record<string, any>>(
    text: string,
    values?: readonly unknown[],
  ): Promise<{ rows: Row[]; rowCount: number | null }>;
};

/** The only database access of a projector: its transaction, whose search_path names the schema of its tables. */
export type ProjectorTx = Tx & {
  /**
   * Sends a statement without waiting for its answer. The commit of the batch waits for it, and the batch fails if it fails.
   */
  write(text: string, values?: readonly unknown[]): void;
};

/**
 * Definition of a read model: turns events into rows. Deterministic: no clock, no randomness, no external calls, so that a replay gives the
 * same rows. `E`: the events it knows; its projector gets only those of `handles`. Table names in its SQL are unqualified: a rebuild runs
 * the same projector in another schema.
 */
export type Projection<E extends Event = Event> = {
  /** The folder's name, for example `drafts`. */
  name: string;
  /** Raised when tables or projector change in a way that needs a rebuild. */
  version: number;
  /** All tables of tables.sql, in an order whose reverse allows dropping them. */
  tables: readonly string[];
  /**
   * By default a read model belongs to the main group, which moves in one transaction, so that no answer shows a message that its thread
   * does not have. An expensive one, or one that may fail without harm to the others, is independent: only requests answered from it wait
   * for it.
   */
  independent?: true;
  /** True if indexes.sql has indexes that are created once the tables are filled, which is much faster than maintaining them meanwhile. */
  hasLateIndexes?: true;
  /** Types of events that its projector gets; absent: all. */
  handles?: readonly E["type"][];
  /**
   * How old rows are removed, if they may be (src/runtime/projections/prune.ts). `time`: the indexed column of `table` with the time of each
   * row's first event. `remove` removes the rows with these values of `key`, and everything that belongs to them.
   */
  prune?: {
    table: string;
    key: string;
    time: string;
    remove(tx: ProjectorTx, keys: readonly string[]): Promise<void>;
  };
  /** Projects events in position order; set-based: a few statements per batch, whatever its size. Reads first, all at once, then writes. */
  project(tx: ProjectorTx, events: readonly Recorded<E>[]): Promise<void>;
};

/** True if the projection's projector gets events of this type. */
export const isHandled = ({ handles }: Projection, type: string): boolean => handles?.includes(type) ?? true;

/** Serialises a value as one JSON parameter, for json_to_recordset or jsonb_array_elements. */
export const json = (value: unknown): string => JSON.stringify(value);
