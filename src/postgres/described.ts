import pg from "pg";

/** What of a connection of pg's its types leave out. */
export type Wire = {
  stream: { cork(): void; uncork(): void };
  submittedNamedStatements: Record<string, string>;
  parse(statement: { name?: string; text: string; types?: number[] }): void;
  bind(bound: unknown): void;
  describe(what: unknown): void;
  execute(portal: { portal: string }): void;
  sync(): void;
};

/** How pg makes an answer of what comes in: the columns, and what reads each. */
type Rows = {
  fields: { name: string; format: string }[];
  _parsers: unknown[] | undefined;
  _prebuiltEmptyResultObject: unknown;
};

/** As they were described last, by statement: on nearly all connections they are the same, and kept once. */
const shared = new Map<string, Rows>();

function described(statement: string, { fields, _parsers, _prebuiltEmptyResultObject }: Rows): Rows {
  const before = shared.get(statement);
  const isAsBefore =
    before?.fields.length === fields.length &&
    fields.every(({ name, format }, at) => {
      const other = before.fields[at]!;
      return name === other.name && format === other.format && _parsers?.[at] === before._parsers?.[at];
    });
  if (before && isAsBefore) return before;
  const rows = { fields, _parsers, _prebuiltEmptyResultObject };
  shared.set(statement, rows);
  return rows;
}

/** The parts of pg's query that its types leave out, and that pg calls as the answer comes in. */
export type QueryOnWire = pg.Query & {
  name?: string;
  text: string;
  _result: Rows & { _types?: unknown };
  _accumulateRows: unknown;
  prepare(connection: Wire): void;
  handleRowDescription(message: unknown): void;
  handleDataRow(row: unknown): void;
  handleCommandComplete(command: unknown, connection: Wire): void;
  handleReadyForQuery(connection: Wire): void;
};

const Query = pg.Query as unknown as new (
  config: pg.QueryConfig,
  callback: (error: Error | null, answer: pg.QueryResult) => void,
) => QueryOnWire;

type Client = pg.Client | pg.PoolClient;

/** By connection and statement. */
const known = new WeakMap<Client, Map<string, Rows>>();

/**
 * A query that asks once a connection what the rows of a named statement look like. pg asks each time, and for rows of many columns to say so, and
 * to read it, costs more than the rows. It never changes: PostgreSQL refuses to run a statement whose rows have become others (`isOutdated`).
 */
export class Described extends Query {
  readonly #of: Map<string, Rows>;
  /** As an earlier answer was described. */
  #rows: Rows | undefined;

  constructor(client: Client, config: pg.QueryConfig, callback: (error: Error | null, answer: pg.QueryResult) => void) {
    super(config, callback);
    this._result._types = client;
    const of = known.get(client) ?? new Map<string, Rows>();
    this.#of = of;
    if (!known.has(client)) known.set(client, of);
  }

  override prepare(connection: Wire): void {
    this.#rows = this.name === undefined ? undefined : this.#of.get(this.name);
    super.prepare(this.#rows ? Object.create(connection, { describe: { value: () => {} } }) : connection);
  }

  override handleDataRow(row: unknown): void {
    if (this.#rows) {
      Object.assign(this._result, this.#rows);
      this._accumulateRows = true;
      this.#rows = undefined;
    }
    super.handleDataRow(row);
  }

  override handleCommandComplete(command: unknown, connection: Wire): void {
    if (this.name !== undefined && !this.#of.has(this.name))
      this.#of.set(this.name, described(this.name, this._result));
    super.handleCommandComplete(command, connection);
  }
}

/**
 * One statement on one connection. `query_timeout`: milliseconds, the connection's own unless it is given. An error tells who asked, as pg's own do:
 * it was made where the answer came in.
 */
export const askDescribed = <Answer extends pg.QueryResult | pg.QueryArrayResult>(
  client: Client,
  { query_timeout, ...config }: (pg.QueryConfig | pg.QueryArrayConfig) & { query_timeout?: number },
): Promise<Answer> =>
  new Promise<Answer>((resolve, reject) => {
    const query = new Described(client, config, (error, answer) => (error ? reject(error) : resolve(answer as never)));
    client.query(Object.assign(query, { query_timeout }));
  }).catch((error) => {
    Error.captureStackTrace(error);
    throw error;
  });
