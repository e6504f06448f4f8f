import { createHash } from "node:crypto";
import type pg from "pg";

/**
 * `queryMode` "extended": a statement without values is refused, too, if it holds several commands. `query_timeout`: milliseconds after which pg
 * closes the connection, as set for the pool unless given.
 */
export type Statement = pg.QueryConfig & { queryMode?: "extended"; query_timeout?: number };

const mostNames = 500;
const names = new Map<string, string>();

/**
 * A command that each connection parses once and then knows by its name. Texts beyond the 500th are parsed every time: they are composed
 * from what people typed.
 */
export const named = (text: string, values: readonly unknown[] = []): Statement => {
  const name = nameOf(text);
  return name === undefined ? unnamed(text, values) : { name, text, values: values as unknown[] };
};

/** A command that is parsed every time. */
export const unnamed = (text: string, values: readonly unknown[] = []): Statement => ({
  text,
  values: values as unknown[],
  queryMode: "extended",
});

function nameOf(text: string): string | undefined {
  const known = names.get(text);
  if (known !== undefined || names.size >= mostNames) return known;
  // Derived from the text, so that a name means the same in every process that a pooler may give one session to.
  const name = `countersign_${createHash("sha256").update(text).digest("hex").slice(0, 24)}`;
  names.set(text, name);
  return name;
}

/**
 * True for the error of a prepared statement whose tables were rebuilt with other columns. A new connection does not know the statement
 * yet.
 */
export const isOutdated = (error: unknown): boolean =>
  (error as { code?: string }).code === "0A000" && /cached plan/.test((error as Error).message);

/**
 * True for the error of a statement that was prepared in another session than the current one, or by another client in this one: a pooler
 * assigns sessions by transaction, and does not track prepared statements.
 */
export const isOfAnotherSession = (error: unknown): boolean =>
  ["26000", "42P05"].includes((error as { code?: string }).code ?? "");
