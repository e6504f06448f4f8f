import type pg from "pg";
import type { Tx } from "#projections/projection.ts";
import type { Reads } from "#projections/reads.ts";
import { isOfAnotherSession, isOutdated, named, unnamed } from "./statements.ts";
import { askOnce, inTransaction } from "./transaction.ts";

/** Workspace name under which a transaction sees the rows of all workspaces. */
export const everyWorkspace = "*";

/** Lets a transaction see the rows of every workspace until its end: for projectors. */
export const seeEveryWorkspace = `set local countersign.workspace = '${everyWorkspace}'`;

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

const settingsOf = (workspace: string) => ({ "countersign.workspace": workspace });

function settingsFor(workspaceId: string) {
  if (!uuid.test(workspaceId)) throw new TypeError("rows were requested without a workspace");
  return settingsOf(workspaceId);
}

/** Returns the same queries within a transaction that sees one workspace. */
function inside(workspaceId: string, tx: Tx): Reads {
  const refuse = (): never => {
    throw new TypeError("a snapshot sees the rows of one workspace");
  };
  const seen: Reads = {
    of: (other) => (other === workspaceId ? tx : refuse()),
    snapshot: (other, ask) => (other === workspaceId ? ask(seen) : refuse()),
    ofNone: { query: refuse },
    ofAll: { query: refuse },
  };
  return seen;
}

/**
 * Creates the reads. The tables' policies compare each row with the workspace that is set inside the reading transaction. A connection
 * carries none of it into the next transaction.
 */
export function createReads(pool: pg.Pool, ofNone: Tx): Reads {
  /** False behind a pooler that assigns sessions by transaction: statements are not prepared then. */
  let ownSession = true;

  /** Retries outdated statements: a connection with one is closed, so another attempt uses another connection. */
  async function again<T>(ask: (stated: typeof named) => Promise<T>): Promise<T> {
    for (;;) {
      const own = ownSession;
      try {
        return await ask(own ? named : unnamed);
      } catch (error) {
        if (own && isOfAnotherSession(error)) ownSession = false;
        else if (!isOutdated(error)) throw error;
      }
    }
  }

  const seeing = (settings: ReturnType<typeof settingsOf>): Tx => ({
    query: (text, values) => again((stated) => askOnce(pool, stated(text, values), settings)) as never,
  });
  return {
    of: (workspaceId) => seeing(settingsFor(workspaceId)),
    async snapshot(workspaceId, ask) {
      const options = { settings: settingsFor(workspaceId), snapshot: true };
      return again((stated) => inTransaction(pool, (tx) => ask(inside(workspaceId, tx)), { ...options, stated }));
    },
    ofNone,
    ofAll: seeing(settingsOf(everyWorkspace)),
  };
}
