import type pg from "pg";
import type { Tx } from "#projections/projection.ts";
import type { Reads } from "#projections/reads.ts";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { isOutdated, prepared } from "./prepared.ts";
import { asUnavailable } from "./unavailable.ts";

/** What a connection carries that may see the rows of every workspace. */
export const everyWorkspace = "*";

/** Until the end of the transaction it sees the rows of every workspace: for projectors. */
export const seeEveryWorkspace = `set local countersign.workspace = '${everyWorkspace}'`;

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The same questions, within a transaction that sees one workspace. */
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

/** What may stand in a statement as it is. */
function named(workspaceId: string): string {
  if (!uuid.test(workspaceId)) throw new TypeError("rows were requested without a workspace");
  return workspaceId;
}

/** One message for all three. The workspace is set inside, and gone with the transaction. */
const begin = (client: pg.PoolClient, workspace: string): Promise<unknown> =>
  client
    .query(`begin isolation level repeatable read read only; set local countersign.workspace = '${workspace}'`)
    .catch((error) => {
      throw asUnavailable(error);
    });

const rollbackFails = (client: pg.PoolClient): Promise<boolean> =>
  client.query("rollback").then(
    () => false,
    () => true,
  );

/**
 * Gives each query a connection that carries its workspace, on which the tables' policies look. The pool is nobody else's: a connection
 * keeps what it carries while it waits, and is told again only where the next query is of another workspace.
 */
export function createReads(pool: pg.Pool, ofNone: Tx): Reads {
  const carries = new WeakMap<pg.PoolClient, string>();

  async function carry(client: pg.PoolClient, workspace: string): Promise<void> {
    if (carries.get(client) === workspace) return;
    carries.delete(client);
    await client.query("select set_config('countersign.workspace', $1, false)", [workspace]);
    carries.set(client, workspace);
  }

  async function ask(workspace: string, text: string, values?: readonly unknown[]) {
    const client = await pool.connect().catch((error) => {
      throw asUnavailable(error);
    });
    let broken = true;
    try {
      await carry(client, workspace);
      const answer = await client.query(prepared(text, values));
      broken = false;
      return answer;
    } catch (thrown) {
      const error = asUnavailable(thrown);
      // A statement that was refused leaves the connection whole; one whose workspace could not be set is of no use any more.
      broken = error instanceof Unavailable || !carries.has(client) || isOutdated(error);
      throw error;
    } finally {
      client.release(broken);
    }
  }

  /** Connections that remember what a table was before its rebuild go, one by one. */
  async function askOn(workspace: string, text: string, values?: readonly unknown[]) {
    for (;;) {
      try {
        return await ask(workspace, text, values);
      } catch (error) {
        if (!isOutdated(error)) throw error;
      }
    }
  }

  async function snapshotOnce<T>(workspace: string, questions: (tx: Tx) => Promise<T>): Promise<T> {
    const client = await pool.connect().catch((error) => {
      throw asUnavailable(error);
    });
    const asking: Tx = {
      query: (text, values) =>
        client.query(prepared(text, values)).catch((error) => {
          throw asUnavailable(error);
        }) as never,
    };
    let broken = true;
    try {
      await begin(client, workspace);
      const answer = await questions(asking);
      await client.query("commit");
      broken = false;
      return answer;
    } catch (error) {
      broken = error instanceof Unavailable || isOutdated(error) || (await rollbackFails(client));
      throw error;
    } finally {
      client.release(broken);
    }
  }

  async function snapshot<T>(workspace: string, questions: (tx: Tx) => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await snapshotOnce(workspace, questions);
      } catch (error) {
        if (!isOutdated(error)) throw error;
      }
    }
  }

  const carrying = (workspace: string): Tx => ({
    query: (text, values) => askOn(workspace, text, values) as never,
  });
  return {
    of: (workspaceId) => carrying(named(workspaceId)),
    snapshot: (workspaceId, ask) => snapshot(named(workspaceId), (tx) => ask(inside(workspaceId, tx))),
    ofNone,
    ofAll: carrying(everyWorkspace),
  };
}
