/** Characters as readers count them (grapheme clusters): a letter with its accents is one, and so is a joined emoji. */
const characters = new Intl.Segmenter("en", { granularity: "grapheme" });
const encoder = new TextEncoder();

/**
 * Returns the beginning of a text, at most `max` UTF-16 units, cut between two characters. Of a character that is longer than `max` itself
 * its first code points are returned.
 */
export function cutText(text: string, max: number): string {
  if (text.length <= max) return text;
  // Whether a character ends at `max` depends on the text before it and on the next code point.
  const end = characters.segment(text.slice(0, max + 2)).containing(max)?.index ?? 0;
  return end > 0 ? text.slice(0, end) : text.slice(0, max).replace(/[\ud800-\udbff]$/, "");
}

/** Like `cutText`, at most `maxBytes` bytes as UTF-8. */
export const cutToBytes = (text: string, maxBytes: number): string =>
  cutText(text, encoder.encodeInto(text, new Uint8Array(maxBytes)).read);

/** Like `cutText`, and the result ends with "…" if the text was longer. */
export const shortenText = (text: string, max: number): string =>
  text.length <= max ? text : `${cutText(text, max - 1)}…`;
