/** A text of an earlier message, in which quotations are looked for. Its words are taken out once, however many messages are compared with it. */
export type EarlierText = { readonly words: string };

/** A longer text, in UTF-16 units, is not folded, and only its beginning is compared. */
export const maxText = 64 * 1024;
/** UTF-16 units that one search may look through and compare: four texts of the greatest length. */
const maxSteps = 4 * maxText;
/** Looking for so much of a paragraph takes time in proportion to the text; the rest of it is compared where this is found. */
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
 * Returns a search for paragraphs in the texts, each given as its `words`. It goes on behind the paragraph found last, where a quotation's next
 * one usually is. After `maxSteps` nothing is found any more: strangers write both, and choose what takes longest.
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
        // The blank at its end is the one before the next word.
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

/** Its words in one line, a blank around each, without the marks of quotes. */
export const words = (text: string): string =>
  ` ${text.replace(/^[ \t]*(?:>[ \t]?)+/gm, "").trim()} `.replace(/ \s+|[^\S ]\s*/g, " ");
