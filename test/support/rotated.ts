import { inFull } from "./full.ts";

/**
 * Returns `count` cases of a row of a table, or all of them in a full run. Consecutive rows (`turn`: 0, 1, 2, …) continue where the
 * previous one ended: so each row and each column is covered.
 */
export function rotated<T>(row: readonly T[], turn: number, count: number): T[] {
  if (inFull || row.length <= count) return [...row];
  return Array.from({ length: count }, (_, n) => row[(turn * count + n) % row.length] as T);
}
