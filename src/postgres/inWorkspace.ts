import type pg from "pg";
import { Described } from "./described.ts";
import type { Message, Wire } from "./message.ts";

/** Only until the end of the transaction: nothing of it is left for the next user of the session. */
const naming = {
  name: "countersign_workspace",
  text: "select set_config('countersign.workspace', $1, true)",
};

/** Connections on which `naming` has been prepared. */
const ready = new WeakSet<pg.PoolClient>();

export type Question = pg.QueryConfig & {
  workspace: string;
  /** Whether the session of the next transaction is this one's, so that it knows what was prepared on it. */
  ownSession: boolean;
};

/**
 * Asks within a transaction that sees one workspace, in one message and one round trip: PostgreSQL takes what is sent up to a Sync for one
 * transaction, and the first statement in it names the workspace. A pooler that hands out sessions by transaction keeps the two together.
 */
export async function askInWorkspace(client: pg.PoolClient, question: Question): Promise<pg.QueryResult> {
  const { workspace, ownSession } = question;
  if (ownSession && !ready.has(client)) {
    await client.query({ ...naming, values: [workspace] });
    ready.add(client);
  }
  return new Promise((resolve, reject) => {
    client.query(new InWorkspace(client, question, (error, answer) => (error ? reject(error) : resolve(answer))));
  });
}

class InWorkspace extends Described {
  readonly #question: Question;
  /** The first statement's answer is in: what comes now is the question's. */
  #named = false;

  constructor(
    client: pg.PoolClient,
    question: Question,
    callback: (error: Error | null, answer: pg.QueryResult) => void,
  ) {
    const { text, values, name } = question;
    const known = question.ownSession ? name : undefined;
    // Otherwise what has no values goes out as a simple query, which is a transaction of its own.
    super(client, { text, values: values ?? [], name: known, queryMode: "extended" }, callback);
    this.#question = question;
  }

  override prepare(message: Message): void {
    const { workspace, ownSession } = this.#question;
    const statement = ownSession ? naming.name : "";
    if (!ownSession) message.parse({ name: "", text: naming.text });
    message.bind({ portal: "", statement, values: [workspace] });
    message.execute({ portal: "" });
    super.prepare(message);
  }

  override handleDataRow(row: unknown): void {
    if (this.#named) super.handleDataRow(row);
  }

  override handleCommandComplete(command: unknown, connection: Wire): void {
    if (this.#named) super.handleCommandComplete(command, connection);
    this.#named = true;
  }
}
