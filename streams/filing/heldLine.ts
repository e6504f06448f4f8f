import type { FilingDecision } from "./events.ts";

/**
 * Held mail, oldest first, as a queue of which only the ends are stored: a list would be copied with every event. The markers themselves
 * are in the stream, from revision `from` on, and released in the order of their numbers.
 */
export type HeldLine = {
  /** Number of mails in the line. */
  count: number;
  /** Number of the marker released or expired last; 0 before the first. Those in the line have higher numbers. */
  releasedUpTo: number;
  /** Revision of the stream before which no marker is in the line. */
  from: number;
};

export const emptyHeldLine: HeldLine = { count: 0, releasedUpTo: 0, from: 0 };

/** Returns the line after the decision at this revision of the stream. */
export function addHeld(
  line: HeldLine,
  { decision, isHeld, revision }: { decision: FilingDecision; isHeld: boolean; revision: number },
): HeldLine {
  if (decision.releases) return withoutHeld(line, decision.releases);
  if (!isHeld) return line;
  return { ...line, count: line.count + 1, from: line.count === 0 ? revision : line.from };
}

/** Returns the line after a marker was released or expired. `revision`: the marker's. */
export const withoutHeld = (
  { count }: HeldLine,
  { number, revision }: { number: number; revision: number },
): HeldLine => ({
  count: count - 1,
  releasedUpTo: number,
  from: revision + 1,
});

/**
 * True if these markers (numbers; undefined: none) are the next of the line, each once, in their order. `after`: the marker that preceded
 * them when they were read.
 */
export function isNextInLine(
  { count, releasedUpTo }: HeldLine,
  { markers, after }: { markers: readonly (number | undefined)[]; after: number },
): boolean {
  if (markers.length > count || after !== releasedUpTo) return false;
  return markers.every((marker, index) => marker !== undefined && marker > (markers[index - 1] ?? after));
}
