import { inFull } from "./full.ts";

/**
 * Returns `count` of these cases, or all of them in a full run. Each `turn` (0, 1, 2, …) continues after the cases of the previous one, so
 * that consecutive turns cover every case.
 */
export function rotated<T>(row: readonly T[], turn: number, count: number): T[] {
  if (inFull || row.length <= count) return [...row];
  return Array.from({ length: count }, (_, n) => row[(turn * count + n) % row.length] as T);
}
