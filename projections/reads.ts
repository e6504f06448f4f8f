import type { Tx } from "./projection.ts";

/** Reads of the read models, by workspace: a query must name its workspace before it can run. */
export type Reads = {
  /** Queries that see only the rows of this workspace, whatever their WHERE says. */
  of(workspaceId: string): Tx;
  /**
   * Runs several queries of one workspace on one state of the main group: otherwise a batch may be written between two of them. `ask` gets
   * reads that see only this workspace. It holds a connection: wait for nothing else meanwhile. It may be called twice, after a rebuild of
   * a read model.
   */
  snapshot<T>(workspaceId: string, ask: (reads: Reads) => Promise<T>): Promise<T>;
  /**
   * Queries that see no workspace's rows: for tables that belong to no workspace, and for look-ups by the narrow functions of
   * 0002-read-models.sql.
   */
  readonly ofNone: Tx;
  /** Sees all workspaces: for the operator's queries, never for a request. */
  readonly ofAll: Tx;
};
