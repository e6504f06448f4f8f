/**
 * The text of an earlier message that quotations are searched in. Its words are extracted once, however many messages are compared with
 * it.
 */
export type EarlierText = { readonly words: string };

/** UTF-16 units: of a longer text nothing is folded, and only its beginning is compared. */
export const maxText = 64 * 1024;
/** Maximum number of UTF-16 units that one search may scan and compare: enough for four texts of maximum length. */
const maxSteps = 4 * maxText;
/** Length of the part of a paragraph that is searched for, in time proportional to the text; the rest is compared where this is found. */
const beginning = 64;

export function earlierText(text: string): EarlierText {
  let found: string | undefined;
  return {
    get words() {
      found ??= words(text.slice(0, maxText));
      return found;
    },
  };
}

/**
 * Returns a search for paragraphs in the texts; each paragraph is given as its `words`. The search continues after the last hit, where a
 * quotation's next paragraph usually is. After `maxSteps` steps it finds nothing more, because senders write both texts and could choose
 * slow ones.
 */
export function searchIn(texts: readonly EarlierText[]): (paragraph: string) => boolean {
  let left = maxSteps;
  let last: { text: EarlierText; end: number } | undefined;

  function findIn(text: EarlierText, paragraph: string, from = 0): boolean {
    const start = paragraph.slice(0, beginning);
    let at = from;
    while (left > 0) {
      const found = text.words.indexOf(start, at);
      left -= (found === -1 ? text.words.length : found + paragraph.length) - at;
      if (found === -1) return false;
      if (text.words.startsWith(paragraph, found)) {
        // The blank after the last word is also the blank before the next word.
        last = { text, end: found + paragraph.length - 1 };
        return true;
      }
      at = found + 1;
    }
    return false;
  }

  return (paragraph) =>
    (last !== undefined && findIn(last.text, paragraph, last.end)) || texts.some((text) => findIn(text, paragraph));
}

/** Returns the words in one line, each surrounded by blanks, without quotation marks (`>`). */
export const words = (text: string): string =>
  ` ${text.replace(/^[ \t]*(?:>[ \t]?)+/gm, "").trim()} `.replace(/ \s+|[^\S ]\s*/g, " ");
