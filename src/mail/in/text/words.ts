/** Matches a word. Scripts written without blanks: each character counts as a word. */
const word =
  /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]|[\p{L}\p{M}\p{N}]+/gu;
/** Maximum number of UTF-16 units of a text that are compared. */
const readLength = 256 * 1024;

const wordsOf = (text: string): Set<string> => new Set(text.slice(0, readLength).toLowerCase().match(word) ?? []);

/** True if less than half of the words of one text occur in the other. */
export function saysMoreThan(text: string, other: string): boolean {
  const words = wordsOf(text);
  const known = wordsOf(other);
  let missing = 0;
  for (const one of words) if (!known.has(one)) missing += 1;
  return missing * 2 > words.size;
}

/** Matches what is not prose: link targets, and descriptions of pictures. */
const besides = /\[(?:https?:|mailto:|tel:|image\b)[^\]]*\]|\bhttps?:\/\/\S+/gi;
/** Minimum number of words of a line that is compared; shorter lines are labels and greetings. */
const fewestWords = 3;

/** Returns the lines of `text` that `other` lacks: the lines in which most pairs of adjacent words do not occur in `other`. */
export function linesMissingIn(other: string, text: string): string[] {
  const known = new Set(pairsOf(other.slice(0, readLength)));
  return text
    .slice(0, readLength)
    .split("\n")
    .filter((line) => {
      const pairs = pairsOf(line);
      return pairs.length >= fewestWords - 1 && pairs.filter((pair) => !known.has(pair)).length * 2 > pairs.length;
    });
}

function pairsOf(text: string): string[] {
  const words = text.replace(besides, " ").toLowerCase().match(word) ?? [];
  return words.slice(1).map((next, n) => `${words[n]} ${next}`);
}

/** True for a text without visible letters, figures and signs. */
export const isBlankText = (text: string): boolean =>
  !/[^\s\p{Cf}\p{Cc}\p{Zs}\p{M}\u2800\u3164\u115f\u1160]/u.test(text);
