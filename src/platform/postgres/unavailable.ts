import pg from "pg";
import { StatementTimedOut, Unavailable } from "#src/eventStore/eventStore.ts";

/** The connection was lost at the commit: the transaction may have been committed. */
export class OutcomeUnknown extends Unavailable {
  override readonly name = "OutcomeUnknown";
  constructor(cause: Error) {
    super(`the outcome of a commit is unknown: ${cause.message}`, { cause });
  }
}

/** SQLSTATE of a statement that was cancelled because it took too long. */
const timedOut = "57014";

/** Maps an error to Unavailable if the server could not be reached or did not answer; returns any other error unchanged. */
export function asUnavailable(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof Unavailable) return error;
  if (error instanceof pg.DatabaseError && error.code === timedOut) {
    return new StatementTimedOut(`PostgreSQL: ${error.message}`, { cause: error });
  }
  const away = error instanceof pg.DatabaseError ? serverIsAway(error.code ?? "") : connectionFailed(error);
  return away ? new Unavailable(`PostgreSQL: ${error.message}`, { cause: error }) : error;
}

/** True for an Unavailable that ended a connection, with or without an error from the server; false if the server only refused. */
export const isCutOff = (error: unknown): boolean =>
  error instanceof Unavailable &&
  !(error.cause instanceof pg.DatabaseError && !/^(08|57P|25P03)/.test(error.cause.code ?? ""));

/** True for SQLSTATEs of lost connections, exhausted resources, a server going down or starting up, a failing disk. */
const serverIsAway = (code: string): boolean =>
  /^(08|53|58)/.test(code) || ["57P01", "57P02", "57P03", "57P05", "25P03", "25006"].includes(code);

/** True for errors without SQLSTATE: the operating system's, and pg's own, which have only a message. */
const connectionFailed = (error: Error): boolean =>
  "syscall" in error ||
  error instanceof AggregateError ||
  /connection|timeout|terminated|not queryable|after calling end/i.test(error.message);
