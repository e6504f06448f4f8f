import type pg from "pg";
import { Described, type QueryOnWire } from "./described.ts";
import { Message, type Wire } from "./message.ts";

/** A statement that PostgreSQL passed over, because one that was sent with it failed before its turn came: that error is the `cause`. */
export class NotRun extends Error {
  override readonly name = "NotRun";
  constructor(cause: unknown) {
    super("a statement sent before it failed", { cause });
  }
}

type Asked = {
  statement: pg.QueryConfig;
  resolve(answer: pg.QueryResult): void;
  reject(error: unknown): void;
};

/** Asks on one connection, in the order of the calls. Throws what the connection throws, and NotRun. */
export type Exchange = (statement: pg.QueryConfig) => Promise<pg.QueryResult>;

/**
 * What is asked before the connection is free goes out together, in one message, and is answered in one: waking a process of the server and
 * being woken by it costs more than most statements. Within a transaction only: outside of one, the statements of a message are one themselves.
 * A statement without values may hold several commands, and goes alone.
 */
export function exchangeOn(client: pg.PoolClient, { asOne = false }: ExchangeOptions = {}): Exchange {
  let waiting: Asked[] = [];
  let isBusy = false;

  /** Once everybody who has just been answered, or who asks in this turn, has asked on. */
  const flushSoon = (): void => queueMicrotask(() => process.nextTick(flush));

  function flush(): void {
    if (isBusy || waiting.length === 0) return;
    isBusy = true;
    const alone = waiting.findIndex(({ statement }) => statement.values === undefined);
    const asked = waiting.slice(0, alone === 0 ? 1 : alone === -1 ? waiting.length : alone);
    waiting = waiting.slice(asked.length);
    if (alone === 0) askAlone(asked[0]!);
    else askTogether(asked);
  }

  function answered(): void {
    isBusy = false;
    if (waiting.length > 0) flushSoon();
  }

  function askAlone({ statement, resolve, reject }: Asked): void {
    client.query(statement).then(resolve, reject).finally(answered);
  }

  function askTogether(asked: readonly Asked[]): void {
    const times = asOne ? 1 : patience(asked.length);
    client.query(new Together(client, asked, { times, ended: answered }) as unknown as pg.Submittable);
  }

  return (statement) =>
    new Promise((resolve, reject) => {
      waiting.push({ statement, resolve, reject });
      if (!isBusy && waiting.length === 1) flushSoon();
    });
}

/** Ends a transaction that failed. True if even that fails: then the connection is of no more use. */
export const rollbackFails = (exchange: Exchange): Promise<boolean> =>
  exchange({ text: "rollback" }).then(
    () => false,
    () => true,
  );

/**
 * The same until it is ended: what comes later is refused, for the connection may be another's by then. `failure`: what the beginning met, without
 * which nothing is to be run.
 */
export function endable(exchange: Exchange): { ask: Exchange; end(failure?: unknown): void } {
  let ended: { failure: unknown } | undefined;
  return {
    ask: async (statement) => {
      // Made only when it comes to that: an error takes down where it was made, which costs.
      if (ended?.failure !== undefined) throw new NotRun(ended.failure);
      if (ended) throw new Error("a statement came after the end of its transaction");
      return exchange(statement);
    },
    end(failure) {
      ended ??= { failure };
    },
  };
}

/** As pg looks for it, or for how long it waits for one statement. */
type ClientOnWire = { connectionParameters?: { query_timeout?: number | string } };

/**
 * For how many times one statement's time a message of so many is waited for. PostgreSQL answers all of it at its end, so that a server that hangs
 * looks like one at work: it is to be found out soon, though nearly all statements take a thousandth of their time.
 */
const patience = (statements: number): number => Math.min(1 + Math.floor(statements / 8), 4);

type ExchangeOptions = {
  /** Whether a message is waited for no longer than one statement is: of statements none of which has any work worth the name. */
  asOne?: boolean;
};

/** Several statements as one query of pg's: each is one of its own, but for the Sync, which ends the message. */
class Together {
  /** pg puts its own in front of it, to stop its clock. */
  callback: (error: unknown) => void;
  /** Milliseconds pg waits for the answer. */
  readonly query_timeout: number | undefined;
  readonly #asked: readonly Asked[];
  readonly #queries: QueryOnWire[];
  /** How many have been answered. */
  #at = 0;
  /** The first whose values could not be written out, and why. */
  #unsent: { at: number; error: unknown } | undefined;

  constructor(client: pg.PoolClient, asked: readonly Asked[], { times, ended }: { times: number; ended: () => void }) {
    const each = Number((client as ClientOnWire).connectionParameters?.query_timeout ?? 0);
    this.query_timeout = each > 0 ? each * times : undefined;
    this.#asked = asked;
    this.#queries = asked.map(({ statement, resolve, reject }) => {
      const { name, text, values } = statement;
      return new Described(client, { name, text, values, queryMode: "extended" }, (error, answer) =>
        error ? reject(error) : resolve(answer),
      );
    });
    this.callback = (error) => {
      if (error) this.#fail(error);
      ended();
    };
  }

  /** pg remembers under these what it has parsed on a connection: it asks when the answer to that comes, which is in the statements' order. */
  get name(): string | undefined {
    return this.#queries[this.#at]?.name;
  }
  get text(): string | undefined {
    return this.#queries[this.#at]?.text;
  }

  submit(connection: Wire): undefined {
    const message = new Message(connection);
    message.syncs = false;
    for (const [at, query] of this.#queries.entries()) {
      message.onUnsent = (error) => this.#notSent(message, { error, at });
      query.prepare(message);
    }
    message.end();
    message.write();
  }

  /**
   * A statement that cannot be sent fails its transaction, and those after it, as one does that PostgreSQL refuses: something goes in its place
   * that it will refuse.
   */
  #notSent(message: Message, unsent: { at: number; error: unknown }): void {
    this.#unsent ??= unsent;
    message.parse({ text: "its values could not be sent" });
  }

  handleRowDescription(message: unknown): void {
    this.#queries[this.#at]?.handleRowDescription(message);
  }
  handleDataRow(row: unknown): void {
    this.#queries[this.#at]?.handleDataRow(row);
  }
  handleCommandComplete(command: unknown, connection: Wire): void {
    this.#queries[this.#at]?.handleCommandComplete(command, connection);
    this.#at += 1;
  }
  handleEmptyQuery(): void {
    this.#at += 1;
  }

  handleReadyForQuery(connection: Wire): void {
    for (const query of this.#queries) query.handleReadyForQuery(connection);
    this.callback(null);
  }

  handleError(error: unknown, connection: Wire): void {
    for (const { name } of this.#queries.slice(this.#at)) if (name) delete connection.submittedNamedStatements[name];
    for (const query of this.#queries.slice(0, this.#at)) query.handleReadyForQuery(connection);
    this.callback(error);
  }

  #fail(met: unknown): void {
    const error = this.#unsent?.at === this.#at ? this.#unsent.error : met;
    const [failed, ...rest] = this.#asked.slice(this.#at);
    failed?.reject(error);
    for (const { reject } of rest) reject(new NotRun(error));
  }
}
