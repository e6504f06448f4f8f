import { createHash } from "node:crypto";
import type pg from "pg";

const mostNames = 500;
const names = new Map<string, string>();

/**
 * A statement with values is parsed once a connection and known by its name from then on. There are only so many names: texts beyond
 * them, which are put together out of what somebody typed, are parsed every time.
 */
export function prepared(text: string, values: readonly unknown[] | undefined): pg.QueryConfig {
  return !values || values.length === 0 ? { text } : single(text, values);
}

/** The same of what is one command and no more: without values too. */
export function single(text: string, values: readonly unknown[] = []): pg.QueryConfig {
  const name = nameOf(text);
  return { text, values: values as unknown[], ...(name !== undefined && { name }) };
}

function nameOf(text: string): string | undefined {
  const known = names.get(text);
  if (known !== undefined || names.size >= mostNames) return known;
  // By its text, so that a name means the same in every process that a pooler may give one session to.
  const name = `countersign_${createHash("sha256").update(text).digest("hex").slice(0, 24)}`;
  names.set(text, name);
  return name;
}

/** A prepared statement whose tables were rebuilt with other columns: a new connection knows nothing of it. */
export const isOutdated = (error: unknown): boolean =>
  (error as { code?: string }).code === "0A000" && /cached plan/.test((error as Error).message);

/**
 * A statement that was prepared on a session which is not the one that is there now, or prepared there by somebody else: a pooler hands out
 * sessions by transaction, and knows nothing of prepared statements.
 */
export const isOfAnotherSession = (error: unknown): boolean =>
  ["26000", "42P05"].includes((error as { code?: string }).code ?? "");
