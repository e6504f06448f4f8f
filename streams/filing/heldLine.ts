import type { FilingDecision } from "./events.ts";

/**
 * Held mail, oldest first, as a line of which only the ends are known: a list of it would be copied with every event. The markers themselves
 * are in the stream, from revision `from` on, and released in the order of their numbers.
 */
export type HeldLine = {
  /** How many mails are in it. */
  count: number;
  /** The marker released last, or expired; 0 before the first. Those that are in line have higher numbers. */
  releasedUpTo: number;
  /** No marker that is in line lies before this revision of the stream. */
  from: number;
};

export const nobodyHeld: HeldLine = { count: 0, releasedUpTo: 0, from: 0 };

/** The line after a decision, which lies at this revision of the stream. */
export function afterDecision(
  line: HeldLine,
  { decision, isHeld, revision }: { decision: FilingDecision; isHeld: boolean; revision: number },
): HeldLine {
  const { releases, releasesRevision } = decision;
  if (releases === undefined) {
    if (!isHeld) return line;
    return { ...line, count: line.count + 1, from: line.count === 0 ? revision : line.from };
  }
  return without(line, { number: releases, revision: releasesRevision });
}

/** The line after a marker has left it, released or expired. `revision`: where the marker lies, if that is known. */
export function without(
  line: HeldLine,
  { number, revision }: { number: number; revision: number | undefined },
): HeldLine {
  const count = Math.max(0, line.count - 1);
  // One that an earlier version had left behind is no end of the line.
  if (number <= line.releasedUpTo) return { ...line, count };
  return { count, releasedUpTo: number, from: revision === undefined ? line.from : revision + 1 };
}

/**
 * Whether these markers (numbers, undefined: none) may leave the line: each once, in their order. `after`: the marker behind which they were read;
 * null: they were left behind, before the line's end.
 */
export function isNextInLine(
  line: HeldLine,
  { markers, after }: { markers: readonly (number | undefined)[]; after: number | null },
): boolean {
  if (markers.length > line.count || (after !== null && after !== line.releasedUpTo)) return false;
  let previous = after ?? 0;
  for (const marker of markers) {
    if (marker === undefined || marker <= previous) return false;
    if (after === null && marker > line.releasedUpTo) return false;
    previous = marker;
  }
  return true;
}
