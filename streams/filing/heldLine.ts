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
  if (decision.releases) return without(line, decision.releases);
  if (!isHeld) return line;
  return { ...line, count: line.count + 1, from: line.count === 0 ? revision : line.from };
}

/** The line after a marker has left it, released or expired. `revision`: where the marker lies. */
export const without = ({ count }: HeldLine, { number, revision }: { number: number; revision: number }): HeldLine => ({
  count: count - 1,
  releasedUpTo: number,
  from: revision + 1,
});

/** Whether these markers (numbers, undefined: none) may leave the line: each once, in their order. `after`: the marker behind which they were read. */
export function isNextInLine(
  { count, releasedUpTo }: HeldLine,
  { markers, after }: { markers: readonly (number | undefined)[]; after: number },
): boolean {
  if (markers.length > count || after !== releasedUpTo) return false;
  return markers.every((marker, index) => marker !== undefined && marker > (markers[index - 1] ?? after));
}
