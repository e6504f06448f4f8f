import type { Tx } from "./projection.ts";

/** The read models, seen by one workspace: a query has to say whose rows it is about before it can be asked. */
export type Reads = {
  /** Sees the rows of this workspace and no others, whatever its WHERE says. */
  of(workspaceId: string): Tx;
  /**
   * Several questions of one workspace, answered from one state of all read models that are served together: without this, a batch may be
   * written between two of them. What is handed in sees this workspace and no other. It holds a
   * connection: wait for nothing else meanwhile.
   */
  snapshot<T>(workspaceId: string, ask: (reads: Reads) => Promise<T>): Promise<T>;
  /**
   * As `snapshot`, for questions that are all asked before the first is answered: they go out in one message. What is asked later is refused. It may
   * be asked twice.
   */
  together<T>(workspaceId: string, ask: (reads: Reads) => Promise<T>): Promise<T>;
  /** As `of`, for questions that an index answers at once: those of the same moment, no matter who asks them, go out in one message. */
  lookUp(workspaceId: string): Tx;
  /** Sees no workspace's rows: for tables that belong to no workspace, and for look-ups by the narrow functions of 0002-read-models.sql. */
  readonly ofNone: Tx;
  /** Sees all: for the operator's questions, never for a request. */
  readonly ofAll: Tx;
};
