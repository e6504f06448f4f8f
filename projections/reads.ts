import type { Tx } from "./projection.ts";

/** The read models, seen by one workspace: a query has to say whose rows it is about before it can be asked. */
export type Reads = {
  /** Sees the rows of this workspace and no others, whatever its WHERE says. */
  of(workspaceId: string): Tx;
  /**
   * Several questions of one workspace, answered from one state of all read models that are served together: without this, a batch may be written
   * between two of them. `ask` is given reads that see this workspace and no other. It holds a connection: wait for nothing else meanwhile. It may
   * be called twice, after a rebuild of a read model.
   */
  snapshot<T>(workspaceId: string, ask: (reads: Reads) => Promise<T>): Promise<T>;
  /** Sees no workspace's rows: for tables that belong to no workspace, and for look-ups by the narrow functions of 0002-read-models.sql. */
  readonly ofNone: Tx;
  /** Sees all: for the operator's questions, never for a request. */
  readonly ofAll: Tx;
};
