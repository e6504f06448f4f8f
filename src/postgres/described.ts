import pg from "pg";
import { Message, type Wire } from "./message.ts";

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
export type QueryOnWire = Omit<pg.Query, "submit"> & {
  name?: string | undefined;
  text: string;
  queryMode?: string | undefined;
  _rowMode?: string | undefined;
  _result: Rows & { _types?: unknown };
  _results: unknown;
  _accumulateRows: unknown;
  submit(connection: Wire | Message): Error | null;
  prepare(message: Message): void;
  handleRowDescription(message: unknown): void;
  handleDataRow(row: unknown): void;
  handleCommandComplete(command: unknown, connection: Wire): void;
  handleReadyForQuery(connection: Wire): void;
};

type Answered = (error: Error | null, answer: pg.QueryResult) => void;

const Query = pg.Query as unknown as new (
  text: string,
  values: unknown[] | undefined,
  callback: Answered,
) => QueryOnWire;

type Client = pg.Client | pg.PoolClient;

/** `queryMode`: "extended" where it is to go out as a statement with values does though it has none. */
type Statement = (pg.QueryConfig | pg.QueryArrayConfig) & { queryMode?: "extended" };

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

  /** pg is given the text alone: what comes as an object it copies, property by property, which costs more than the rest of a query. */
  constructor(client: Client, { text, values, name, queryMode, ...more }: Statement, callback: Answered) {
    super(text, values, callback);
    this.name = name;
    this.queryMode = queryMode;
    if ("rowMode" in more) {
      this._rowMode = more.rowMode;
      this._result = this._results = new pg.Result(more.rowMode, pg.types) as unknown as Rows;
    }
    this._result._types = client;
    const of = known.get(client) ?? new Map<string, Rows>();
    this.#of = of;
    if (!known.has(client)) known.set(client, of);
  }

  override submit(connection: Wire): Error | null {
    const message = new Message(connection);
    const refused = super.submit(message);
    message.write();
    return refused;
  }

  override prepare(message: Message): void {
    this.#rows = this.name === undefined ? undefined : this.#of.get(this.name);
    message.describes = this.#rows === undefined;
    super.prepare(message);
  }

  override handleDataRow(row: unknown): void {
    if (this.#rows) {
      const { fields, _parsers, _prebuiltEmptyResultObject } = this.#rows;
      this._result.fields = fields;
      this._result._parsers = _parsers;
      this._result._prebuiltEmptyResultObject = _prebuiltEmptyResultObject;
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
