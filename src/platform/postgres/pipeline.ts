import pg from "pg";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { isOutdated, type Statement } from "./statements.ts";
import { asUnavailable, OutcomeUnknown } from "./unavailable.ts";

/** A statement had no effect because an earlier one of its transaction failed. That failure is the `cause`. */
export class NotRun extends Error {
  override readonly name = "NotRun";
  constructor(cause: unknown) {
    super("a statement sent before it failed", { cause });
  }
}

type PendingStatement = { reject(error: unknown): void };

/**
 * The statements that one caller sends over one connection, in the order of the calls. A connection with `pipeline: true` sends each at once; any
 * other connection waits for the answer to the one before. An answer counts only if all statements before it succeeded.
 */
export class Pipeline {
  readonly #client: pg.PoolClient;
  readonly #timeoutMs: number | undefined;
  /** Statements without an answer, in the order sent, which is the order of the answers. */
  readonly #unanswered = new Set<PendingStatement>();
  #last: Promise<unknown> = Promise.resolve();
  #failure: { error: unknown } | undefined;
  #inTransaction = false;

  /** `timeoutMs`: the time that PostgreSQL has for one statement. */
  constructor(client: pg.PoolClient, timeoutMs: number | undefined) {
    this.#client = client;
    this.#timeoutMs = timeoutMs;
  }

  /** Sends a statement. Throws PostgreSQL's error, Unavailable, NotRun, or the error of a value that cannot be sent. */
  ask(statement: Statement | string): Promise<pg.QueryResult> {
    const send = (): Promise<pg.QueryResult> => this.#send(statement);
    const answer = this.#client.pipeline ? send() : this.#last.then(send, send);
    // `commit` throws the failure of a statement that its caller does not await.
    answer.catch(() => {});
    this.#last = answer;
    return answer;
  }

  begin(text: string): Promise<unknown> {
    this.#inTransaction = true;
    return this.ask(text);
  }

  /** Resolves when every statement that was sent is answered. */
  async settled(): Promise<void> {
    await this.#last.catch(() => {});
  }

  /** Throws the first failure instead of committing. Throws OutcomeUnknown if the commit is not answered. */
  async commit(): Promise<void> {
    if (this.#failure) throw this.#failure.error;
    this.#inTransaction = false;
    await this.ask("commit").catch((error) => {
      throw isLost(error) ? new OutcomeUnknown(error) : error;
    });
  }

  /** Rolls back an open transaction. Returns why the connection cannot serve another one; undefined if it can. */
  async rollBack(): Promise<Error | true | undefined> {
    await this.settled();
    const failed = this.#failure?.error;
    if (this.#failure && !isRefusal(failed)) return failed instanceof Error ? failed : true;
    if (!this.#inTransaction) return undefined;
    return this.#client.query("rollback").then(
      () => undefined,
      () => true as const,
    );
  }

  #send(statement: Statement | string): Promise<pg.QueryResult> {
    return new Promise((resolve, reject) => {
      if (this.#failure) return reject(new NotRun(this.#failure.error));
      const asked = { reject };
      const answered = (error: unknown, answer: pg.QueryResult): void => {
        if (error || this.#failure) this.#fail(asked, error);
        else resolve(answer);
        this.#unanswered.delete(asked);
      };
      const sent = this.#withPatience(statement);
      this.#unanswered.add(asked);
      this.#client.query(sent, answered);
    });
  }

  /**
   * Gives a statement that waits for others more time before pg closes the connection. An object with fewer properties is cheaper for pg.
   */
  #withPatience(statement: Statement | string): Statement | string {
    const times = Math.min(1 + Math.floor(this.#unanswered.size / 8), 4);
    if (times === 1 || !this.#timeoutMs || typeof statement === "string") return statement;
    return { ...statement, query_timeout: this.#timeoutMs * times };
  }

  /**
   * Records a failure. The first one belongs to its statement. A lost connection fails the first statement without an answer: the later
   * ones were not run.
   */
  #fail(asked: PendingStatement, met: unknown): void {
    if (!this.#failure) {
      const error = asUnavailable(met);
      this.#failure = { error };
      const [first = asked] = isLost(error) ? this.#unanswered : [asked];
      first.reject(error);
    }
    // Has no effect on the statement that was rejected above.
    asked.reject(new NotRun(this.#failure.error));
  }
}

/** True if the connection ended before an answer. After an ERROR of PostgreSQL's it continues. */
const isLost = (error: unknown): boolean =>
  error instanceof Unavailable && !(error.cause instanceof pg.DatabaseError && error.cause.severity === "ERROR");

/**
 * True if PostgreSQL refused a statement and the connection is usable. After a value that could not be sent, pg expects a prepared
 * statement that it has closed; an outdated statement stays outdated on its connection.
 */
const isRefusal = (error: unknown): boolean => error instanceof pg.DatabaseError && !isOutdated(error);

/** Runs `work` on a connection of the pool, which is closed if it cannot serve another caller. */
export async function onConnection<T>(pool: pg.Pool, work: (pipeline: Pipeline) => Promise<T>): Promise<T> {
  const client = await pool.connect().catch((error) => {
    throw asUnavailable(error);
  });
  const pipeline = new Pipeline(client, pool.options.query_timeout);
  let broken: Error | true | undefined;
  try {
    return await work(pipeline);
  } catch (thrown) {
    broken = await pipeline.rollBack();
    const error = thrown instanceof NotRun ? thrown.cause : thrown;
    // The error was created where the answer arrived; its stack must show the caller.
    if (error instanceof pg.DatabaseError) Error.captureStackTrace(error);
    throw error;
  } finally {
    client.release(broken);
  }
}
