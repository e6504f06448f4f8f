import type { Word } from "./words.ts";

/**
 * What one version may say at this place and the other need not: the words of a picture, or the digits of a number to call, which may be
 * written with blanks and signs.
 */
export type Optional = { words: Word[] } | { digits: string };

/** The words of a version, and what may be between them. */
export type Item = Word | Optional;

/** More ways to read a text than these are not followed: time would grow with the square of the length. */
const mostWays = 200;

/** Whether the words of a text are the items, each in its order, with or without each optional one at its own place. False if that is too much to tell. */
export function readsAs(items: readonly Item[], text: readonly Word[]): boolean {
  let ways: ReadonlySet<number> = new Set([0]);
  for (const item of items) {
    ways = "key" in item ? afterWord(item, text, ways) : afterOptional(item, text, ways);
    if (ways.size === 0 || ways.size > mostWays) return false;
  }
  return ways.has(text.length);
}

function afterWord(word: Word, text: readonly Word[], ways: ReadonlySet<number>): Set<number> {
  const after = new Set<number>();
  for (const at of ways) if (text[at]?.key === word.key) after.add(at + 1);
  return after;
}

function afterOptional(optional: Optional, text: readonly Word[], ways: ReadonlySet<number>): Set<number> {
  const after = new Set(ways);
  for (const at of ways) {
    const end = "words" in optional ? endOfWords(optional.words, text, at) : endOfDigits(optional.digits, text, at);
    if (end !== undefined) after.add(end);
  }
  return after;
}

function endOfWords(words: readonly Word[], text: readonly Word[], at: number): number | undefined {
  return words.every(({ key }, index) => text[at + index]?.key === key) ? at + words.length : undefined;
}

/** Signs may be before and between the digits, and nothing else. */
function endOfDigits(digits: string, text: readonly Word[], at: number): number | undefined {
  let left = digits;
  for (let end = at; left !== ""; end++) {
    const key = text[end]?.shown ?? "";
    const found = key.replace(/[.,'+-]/g, "");
    if (key === "" || !/^\d*$/.test(found) || !left.startsWith(found)) return undefined;
    left = left.slice(found.length);
    if (left === "" && found !== "") return end + 1;
  }
  return undefined;
}
