import pg from "pg";
import type { Tx } from "#projections/projection.ts";
import { onConnection, type Pipeline } from "./pipeline.ts";
import type { Statement } from "./statements.ts";

/** Settings of PostgreSQL, by name, until the end of the transaction. */
type Settings = Readonly<Record<string, string>>;

type Options = {
  settings?: Settings | undefined;
  /** Sees one state of the database from the first question to the last, and changes nothing. */
  snapshot?: boolean;
  stated: (text: string, values?: readonly unknown[]) => Statement;
};

/** Sent as one message, so that nothing runs in the transaction without its settings. */
function beginning({ settings = {}, snapshot = false }: Pick<Options, "settings" | "snapshot">): string {
  const begin = snapshot ? "begin isolation level repeatable read read only" : "begin";
  const set = Object.entries(settings).map(([name, value]) => `set local ${name} = ${pg.escapeLiteral(value)}`);
  return [begin, ...set].join("; ");
}

/** Runs `work` in a transaction of its own. Throws OutcomeUnknown if the connection was lost at the commit. */
export const inTransaction = <T>(pool: pg.Pool, work: (tx: Tx) => Promise<T>, options: Options): Promise<T> =>
  onConnection(pool, async (pipeline) => {
    const begun = pipeline.begin(beginning(options));
    // A statement outside of a transaction would be its own, and a write would stay. What a snapshot reads there is not returned.
    if (!options.snapshot) await begun;
    const result = await untilItsEnd(pipeline, work, options.stated);
    await pipeline.settled();
    await pipeline.commit();
    return result;
  });

/** Refuses what `work` asks after its end: the connection may be another caller's by then. */
async function untilItsEnd<T>(pipeline: Pipeline, work: (tx: Tx) => Promise<T>, stated: Options["stated"]): Promise<T> {
  let ended = false;
  // Not async: the pipeline's own promise may be left without a handler.
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

/** Asks one question in a snapshot of its own: beginning, question and commit are sent at once. */
export const askOnce = (pool: pg.Pool, statement: Statement, settings: Settings): Promise<pg.QueryResult> =>
  onConnection(pool, async (pipeline) => {
    pipeline.begin(beginning({ settings, snapshot: true }));
    const answer = pipeline.ask(statement);
    await pipeline.commit();
    return answer;
  });
