import type { Event, Recorded } from "#streams/event.ts";

/** SQL, within a transaction or on its own. */
export type Tx = {
  query<Row extends Record<string, unknown> = Record<string, any>>(
    text: string,
    values?: readonly unknown[],
  ): Promise<{ rows: Row[]; rowCount: number | null }>;
};

/** The one thing a projector may use of the database: its transaction, whose search_path names the schema its tables are in. */
export type ProjectorTx = Tx & {
  /**
   * Sends a statement without waiting for its answer. The commit of the batch waits for it, and the batch fails if it fails.
   */
  write(text: string, values?: readonly unknown[]): void;
};

/**
 * A read model: how events become rows. Deterministic: no clock, no randomness, no calls out, so that a replay gives the same rows.
 * `E`: the events it knows; a projector is handed those of `handles` alone.
 * Table names in its SQL are unqualified: a rebuild runs the same projector in another schema.
 */
export type Projection<E extends Event = Event> = {
  /** The folder's name, for example `drafts`. */
  name: string;
  /** Raised when tables or projector change in a way that needs a rebuild. */
  version: number;
  /** Every table of tables.sql, in an order in which they can be dropped backwards. */
  tables: readonly string[];
  /**
   * By default read models are served together, as the main group: they move in one transaction, so that no answer shows a message that its thread
   * does not have. One that is heavy, or may fail without harm to the others, is independent: only requests that are answered from it wait for it.
   */
  independent?: true;
  /** Whether indexes.sql holds indexes that are made once the tables are filled: a great deal faster than filling them row by row. */
  hasLateIndexes?: true;
  /** The event types it looks at; others are not handed to it. */
  handles: readonly E["type"][];
  /** Events in position order; set-based: a few statements a batch, whatever its size. First what it has to know, all at once, then what it writes. */
  project(tx: ProjectorTx, events: readonly Recorded<E>[]): Promise<void>;
};

/** Events as one JSON parameter for json_to_recordset / jsonb_array_elements. */
export const json = (value: unknown): string => JSON.stringify(value);
