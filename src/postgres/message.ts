import pg from "pg";

/** What of a connection of pg's its types leave out. */
export type Wire = {
  stream: { readonly writable: boolean; cork(): void; uncork(): void; write(bytes: Buffer): unknown };
  parsedStatements: Record<string, string>;
  submittedNamedStatements: Record<string, string>;
  parse(statement: { name?: string; text: string; types?: number[] }): void;
  bind(bound: unknown): void;
  describe(what: unknown): void;
  execute(portal: { portal: string }): void;
  sync(): void;
};

/** Bytes of a message that are put together before they are written: what is larger is not copied. */
const mostCopied = 65_536;

const pgs = pg.Connection.prototype as unknown as Wire;

/**
 * What pg writes on a connection for one query or several, gathered and written in one go: the parts of a statement, each on its own way through a
 * stream, take longer there than they took to make. To pg's query it looks like the connection, whose methods it has.
 */
export class Message implements Omit<Wire, "stream"> {
  /** Which pg would cork. */
  readonly stream = {};
  readonly parsedStatements: Wire["parsedStatements"];
  readonly submittedNamedStatements: Wire["submittedNamedStatements"];
  /** Whether it asks what the rows of a statement look like. */
  describes = true;
  /** Whether each statement ends the message. */
  syncs = true;
  /** Told of values that cannot be sent; without it, that fails the query they are of. */
  onUnsent: ((error: unknown) => void) | undefined;
  readonly #connection: Wire;
  readonly #parts: Buffer[] = [];
  #bytes = 0;

  declare parse: Wire["parse"];
  declare execute: Wire["execute"];

  constructor(connection: Wire) {
    this.#connection = connection;
    this.parsedStatements = connection.parsedStatements;
    this.submittedNamedStatements = connection.submittedNamedStatements;
  }

  /** Where pg's methods put what they have made. */
  _send(part: Buffer): void {
    this.#parts.push(part);
    this.#bytes += part.length;
  }

  bind(bound: unknown): void {
    try {
      pgs.bind.call(this as unknown as Wire, bound);
    } catch (error) {
      if (!this.onUnsent) throw error;
      this.onUnsent(error);
    }
  }

  describe(what: unknown): void {
    if (this.describes) pgs.describe.call(this as unknown as Wire, what);
  }

  sync(): void {
    if (this.syncs) this.end();
  }

  end(): void {
    pgs.sync.call(this as unknown as Wire);
  }

  /** Once all is in it. */
  write(): void {
    const { stream } = this.#connection;
    if (!stream.writable || this.#bytes === 0) return;
    if (this.#bytes <= mostCopied) {
      stream.write(Buffer.concat(this.#parts, this.#bytes));
      return;
    }
    stream.cork();
    for (const part of this.#parts) stream.write(part);
    stream.uncork();
  }
}

Object.setPrototypeOf(Message.prototype, pgs);
