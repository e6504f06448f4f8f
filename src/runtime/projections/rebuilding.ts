import type { Projection } from "#projections/projection.ts";
import type { Database, Sql } from "#src/platform/postgres/database.ts";
import type { Progress } from "./checkpoints.ts";
import type { TablesSql } from "./projectionTables.ts";
import type { ReplayOptions } from "./replay.ts";

export type RebuildOptions = ReplayOptions & {
  database: Database;
  tablesSql: TablesSql;
  /** Called when read models begin to wait for what passes: somebody who reads their old tables, or an event store that is away. */
  onWaiting?: (details: { projections: string[]; err: Error }) => void;
  /** Called for each read model whose tables will not be exchanged. */
  onFailed?: (name: string, error: Error) => void;
};

/** A rebuild that has its locks. `session`: number of the connection that holds them, by the transaction `lock`. */
export type Rebuilding = RebuildOptions & {
  lock: Sql;
  session: number;
  /**
   * Throws Unavailable once any connection has broken: the server may have crashed, and lost commits of the fill, which do not wait for
   * the disk. Throws if the rebuild has to stop.
   */
  requireUnbroken(): void;
};

/** A read model and the position of its new tables. */
export type Place = Progress & {
  /** True if its live tables are empty, so that tables that are filled in part are better. */
  isNew: boolean;
  /** The projector's failure, on the events after that position. */
  failure?: Error;
  /** True once the new tables have all indexes. */
  isIndexed?: true;
};

/** A rebuild whose connection broke has lost its locks, but may go on for a moment: the next one writes into another schema. */
export const schemaOf = ({ session }: Rebuilding, { name }: Projection): string => `rebuild_${name}_${session}`;
