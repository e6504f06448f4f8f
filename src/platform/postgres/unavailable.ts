import pg from "pg";
import { StatementTimedOut, Unavailable } from "#src/eventStore/eventStore.ts";

/** The connection was lost at the commit: the transaction may have been committed. */
export class OutcomeUnknown extends Unavailable {
  override readonly name = "OutcomeUnknown";
  constructor(cause: Error) {
    super(`the outcome of a commit is unknown: ${cause.message}`, { cause });
  }
}

/** SQLSTATE of a statement that was given up because it took too long. */
const timedOut = "57014";

/** Unavailable if an error says that the server could not be reached or did not answer; any other error unchanged. */
export function asUnavailable(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof Unavailable) return error;
  if (error instanceof pg.DatabaseError && error.code === timedOut) {
    return new StatementTimedOut(`PostgreSQL: ${error.message}`, { cause: error });
  }
  const away = error instanceof pg.DatabaseError ? serverIsAway(error.code ?? "") : connectionFailed(error);
  return away ? new Unavailable(`PostgreSQL: ${error.message}`, { cause: error }) : error;
}

/** True of an Unavailable that ended a connection, by the server's word or for want of one; not where the server only refused. */
export const isCutOff = (error: unknown): boolean =>
  error instanceof Unavailable &&
  !(error.cause instanceof pg.DatabaseError && !/^(08|57P|25P03)/.test(error.cause.code ?? ""));

/** By SQLSTATE: lost connections, exhausted resources, a server going down or coming up, a failing disk. */
const serverIsAway = (code: string): boolean =>
  /^(08|53|58)/.test(code) || ["57P01", "57P02", "57P03", "57P05", "25P03", "25006"].includes(code);

/** Errors without SQLSTATE: the operating system's, and pg's own, which have nothing but a sentence. */
const connectionFailed = (error: Error): boolean =>
  "syscall" in error ||
  error instanceof AggregateError ||
  /connection|timeout|terminated|not queryable|after calling end/i.test(error.message);
