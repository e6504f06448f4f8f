import { inFull } from "./full.ts";

/**
 * Of a row of a table of cases, the `count` whose turn it is, and in a full run all of them. Rows that follow each other (`turn`: 0, 1, 2, …)
 * go on where the one before ended: so each row is met, and each column.
 */
export function rotated<T>(row: readonly T[], turn: number, count: number): T[] {
  if (inFull || row.length <= count) return [...row];
  return Array.from({ length: count }, (_, n) => row[(turn * count + n) % row.length] as T);
}
