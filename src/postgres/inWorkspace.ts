import pg from "pg";

/** Only until the end of the transaction: nothing of it is left for whoever is given the session next. */
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
    client.query(new InWorkspace(question, (error, answer) => (error ? reject(error) : resolve(answer as never))));
  });
}

type Wire = {
  parse(statement: { name: string; text: string; types?: number[] }): void;
  bind(bound: { portal: string; statement: string; values: string[] }): void;
  execute(portal: { portal: string }): void;
};

/** The parts of pg's query that its types leave out, and that pg calls as the answer comes in. */
type QueryOnWire = pg.Query & {
  prepare(connection: Wire): void;
  handleDataRow(row: unknown): void;
  handleCommandComplete(command: unknown, connection: Wire): void;
};

const Query = pg.Query as unknown as new (
  config: pg.QueryConfig,
  callback: (error: Error | undefined, answer: unknown) => void,
) => QueryOnWire;

class InWorkspace extends Query {
  readonly #question: Question;
  /** The first statement's answer is in: what comes now is the question's. */
  #named = false;

  constructor(question: Question, callback: (error: Error | undefined, answer: unknown) => void) {
    const { text, values, name } = question;
    const statement = { text, values: values ?? [], ...(name !== undefined && question.ownSession && { name }) };
    // Otherwise what has no values goes out as a simple query, which is a transaction of its own.
    super({ ...statement, queryMode: "extended" } as pg.QueryConfig, callback);
    this.#question = question;
  }

  override prepare(connection: Wire): void {
    const { workspace, ownSession } = this.#question;
    const statement = ownSession ? naming.name : "";
    if (!ownSession) connection.parse({ name: "", text: naming.text });
    connection.bind({ portal: "", statement, values: [workspace] });
    connection.execute({ portal: "" });
    super.prepare(connection);
  }

  override handleDataRow(row: unknown): void {
    if (this.#named) super.handleDataRow(row);
  }

  override handleCommandComplete(command: unknown, connection: Wire): void {
    if (this.#named) super.handleCommandComplete(command, connection);
    this.#named = true;
  }
}
