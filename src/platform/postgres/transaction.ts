import pg from "pg";
import type { Tx } from "#projections/projection.ts";
import { onConnection, type Pipeline } from "./pipeline.ts";
import type { Statement } from "./statements.ts";

/** Settings of PostgreSQL, by name, until the end of the transaction. */
type Settings = Readonly<Record<string, string>>;

type TransactionOptions = {
  settings?: Settings | undefined;
  /** True: reads one state of the database from the first query to the last, and changes nothing. */
  snapshot?: boolean;
  stated: (text: string, values?: readonly unknown[]) => Statement;
};

/** Returns the beginning of a transaction as one message, so that no statement runs without its settings. */
function beginning({ settings = {}, snapshot = false }: Pick<TransactionOptions, "settings" | "snapshot">): string {
  const begin = snapshot ? "begin isolation level repeatable read read only" : "begin";
  const set = Object.entries(settings).map(([name, value]) => `set local ${name} = ${pg.escapeLiteral(value)}`);
  return [begin, ...set].join("; ");
}

/** Runs `work` in a separate transaction. Throws OutcomeUnknown if the connection was lost at the commit. */
export const inTransaction = <T>(
  pool: pg.Pool,
  work: (tx: Tx) => Promise<T>,
  options: TransactionOptions,
): Promise<T> =>
  onConnection(pool, async (pipeline) => {
    const begun = pipeline.begin(beginning(options));
    // If the begin failed, a statement would be committed by itself. A snapshot only reads, and its result is not returned then.
    if (!options.snapshot) await begun;
    const result = await untilItsEnd(pipeline, work, options.stated);
    await pipeline.settled();
    await pipeline.commit();
    return result;
  });

/** Rejects statements sent after `work` has ended: the connection may belong to another caller by then. */
async function untilItsEnd<T>(
  pipeline: Pipeline,
  work: (tx: Tx) => Promise<T>,
  stated: TransactionOptions["stated"],
): Promise<T> {
  let ended = false;
  // Not async, because the pipeline's own promise may be left without a handler.
  const query = (text: string, values?: readonly unknown[]) =>
    ended
      ? Promise.reject(new Error("a statement came after the end of its transaction"))
      : pipeline.ask(stated(text, values));
  try {
    return await work({ query: query as Tx["query"] });
  } finally {
    ended = true;
  }
}

/** Runs one query in a separate snapshot: begin, query and commit are sent at once. */
export const askOnce = (pool: pg.Pool, statement: Statement, settings: Settings): Promise<pg.QueryResult> =>
  onConnection(pool, async (pipeline) => {
    pipeline.begin(beginning({ settings, snapshot: true }));
    const answer = pipeline.ask(statement);
    await pipeline.commit();
    return answer;
  });
