import type { Projection } from "#projections/projection.ts";
import type { Database, Sql } from "#src/platform/postgres/database.ts";
import type { Progress } from "./checkpoints.ts";
import type { TablesSql } from "./projectionTables.ts";
import type { ReplayOptions } from "./replay.ts";

export type RebuildOptions = ReplayOptions & {
  database: Database;
  tablesSql: TablesSql;
  /** Called at the first failed try of a wait: another session reads the old tables, or the event store is unreachable. */
  onWaiting?: (details: { projections: string[]; err: Error }) => void;
  /** Called for each read model whose tables will not be exchanged. */
  onFailed?: (name: string, error: Error) => void;
};

/** A rebuild that has its locks. `session`: PostgreSQL process id of the connection whose transaction `lock` holds them. */
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
export type NewTables = Progress & {
  /** True if the live tables are still empty, so that partly filled tables may replace them. */
  isNew: boolean;
  /** The projector's failure, on the events after that position. */
  failure?: Error;
  /** True once the new tables have all indexes. */
  isIndexed?: true;
};

/** Returns the schema of new tables, named after the connection: a rebuild that lost its locks with it may still write for a moment. */
export const schemaOf = ({ session }: Rebuilding, { name }: Projection): string => `rebuild_${name}_${session}`;
