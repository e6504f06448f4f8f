/** Scripts that are written without blanks: each character counts as a word. */
const word =
  /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]|[\p{L}\p{M}\p{N}]+/gu;
/** As much of a text as is compared, in UTF-16 units. */
const readLength = 256 * 1024;

const wordsOf = (text: string): Set<string> => new Set(text.slice(0, readLength).toLowerCase().match(word) ?? []);

/** True if less than half of the words of one text occur in the other one. */
export function saysMoreThan(text: string, other: string): boolean {
  const words = wordsOf(text);
  const known = wordsOf(other);
  let missing = 0;
  for (const one of words) if (!known.has(one)) missing += 1;
  return missing * 2 > words.size;
}

/** Matches what is no writing: targets of links, and the words of pictures. */
const besides = /\[(?:https?:|mailto:|tel:|image\b)[^\]]*\]|\bhttps?:\/\/\S+/gi;
/** Shorter lines are labels and greetings. */
const fewestWords = 3;

/** The lines of a text that another one does not have: most pairs of words that follow each other in them occur nowhere in it. */
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

/** A text without letters, figures and signs that are seen. */
export const isBlankText = (text: string): boolean =>
  !/[^\s\p{Cf}\p{Cc}\p{Zs}\p{M}\u2800\u3164\u115f\u1160]/u.test(text);
