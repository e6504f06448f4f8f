import type pg from "pg";
import type { Tx } from "#projections/projection.ts";
import type { Reads } from "#projections/reads.ts";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { type Exchange, endable, exchangeOn, NotRun, rollbackFails } from "./exchange.ts";
import { askInWorkspace } from "./inWorkspace.ts";
import { joiningLookUps, type LookUp } from "./lookUps.ts";
import { isOfAnotherSession, isOutdated, prepared } from "./prepared.ts";
import { asUnavailable } from "./unavailable.ts";

/** What a transaction names as its workspace that may see the rows of all. */
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
    together: (other, ask) => (other === workspaceId ? ask(seen) : refuse()),
    lookUp: (other) => (other === workspaceId ? tx : refuse()),
    ofNone: { query: refuse },
    ofAll: { query: refuse },
  };
  return seen;
}

/** What may be in a statement as it is. */
function named(workspaceId: string): string {
  if (!uuid.test(workspaceId)) throw new TypeError("rows were requested without a workspace");
  return workspaceId;
}

/** Goes out with the first questions. The workspace is set inside, and gone with the transaction. */
function begin(exchange: Exchange, workspace: string): Promise<unknown> {
  const begun = exchange({ text: "begin isolation level repeatable read read only", values: [] });
  exchange({ text: `set local countersign.workspace = '${workspace}'`, values: [] }).catch(() => {});
  return begun;
}

type Seen = { workspace: string; own: boolean; atOnce: boolean };

type Statement = { text: string; values: readonly unknown[] | undefined };

const asked = ({ text, values }: Statement, ownSession: boolean): pg.QueryConfig =>
  ownSession ? prepared(text, values) : { text, values: values as unknown[] };

const metBy = (thrown: unknown): unknown => asUnavailable(thrown instanceof NotRun ? thrown.cause : thrown);

/**
 * Each question names its workspace, on which the tables' policies look, inside the transaction that answers it: a connection carries nothing
 * from one to the next.
 */
export function createReads(pool: pg.Pool, ofNone: Tx): Reads {
  /** Whether a connection is one session: not so behind a pooler that hands out sessions by transaction. */
  let ownSession = true;

  async function connect(): Promise<pg.PoolClient> {
    return pool.connect().catch((error) => {
      throw asUnavailable(error);
    });
  }

  async function ask(workspace: string, statement: Statement, own: boolean) {
    const client = await connect();
    let broken = true;
    try {
      const answer = await askInWorkspace(client, { ...asked(statement, own), workspace, ownSession: own });
      broken = false;
      return answer;
    } catch (thrown) {
      const error = asUnavailable(thrown);
      // A statement that was refused leaves the connection whole.
      broken = error instanceof Unavailable || isOutdated(error);
      throw error;
    } finally {
      client.release(broken);
    }
  }

  /** `atOnce`: nothing is asked after the first answer, so that the end goes out with the questions. */
  async function snapshot<T>(questions: (tx: Tx) => Promise<T>, { workspace, own, atOnce }: Seen): Promise<T> {
    const client = await connect();
    const exchange = exchangeOn(client);
    const { ask, end } = endable(exchange);
    const asking: Tx = {
      query: (text, values = []) =>
        ask(asked({ text, values }, own)).catch((error) => {
          throw metBy(error);
        }) as never,
    };
    let broken = true;
    try {
      const begun = begin(exchange, workspace);
      begun.catch(end);
      const answering = questions(asking).finally(end);
      if (!atOnce) await answering;
      end();
      const [answer] = await Promise.all([answering, exchange({ text: "commit", values: [] }), begun]);
      broken = false;
      return answer;
    } catch (thrown) {
      const error = metBy(thrown);
      broken = error instanceof Unavailable || isOutdated(error) || (await rollbackFails(exchange));
      throw error;
    } finally {
      client.release(broken);
    }
  }

  /** Connections that remember what a table was before its rebuild go, one by one; what is not remembered is parsed each time. */
  async function again<T>(ask: (own: boolean) => Promise<T>): Promise<T> {
    for (;;) {
      const own = ownSession;
      try {
        return await ask(own);
      } catch (error) {
        if (own && isOfAnotherSession(error)) ownSession = false;
        else if (!isOutdated(error)) throw error;
      }
    }
  }

  const askAlone = ({ workspace, ...statement }: LookUp) => again((own) => ask(workspace, statement, own));
  const seeing = (workspace: string): Tx => ({
    query: (text, values) => askAlone({ workspace, text, values }) as never,
  });
  const seenAsOne = <T>(workspaceId: string, questions: (reads: Reads) => Promise<T>, atOnce: boolean): Promise<T> => {
    const workspace = named(workspaceId);
    return again((own) => snapshot((tx) => questions(inside(workspace, tx)), { workspace, own, atOnce }));
  };
  const askJoined = joiningLookUps({ connect, alone: askAlone });
  return {
    of: (workspaceId) => seeing(named(workspaceId)),
    snapshot: (workspaceId, ask) => seenAsOne(workspaceId, ask, false),
    together: (workspaceId, ask) => seenAsOne(workspaceId, ask, true),
    lookUp(workspaceId) {
      const workspace = named(workspaceId);
      const ask = ownSession ? askJoined : askAlone;
      return { query: (text, values) => ask({ workspace, text, values }) as never };
    },
    ofNone,
    ofAll: seeing(everyWorkspace),
  };
}
