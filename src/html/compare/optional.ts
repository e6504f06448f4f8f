import type { ComparedWord } from "./words.ts";

/**
 * Text that one version may have at this place and the other may omit: the words of a picture, or the digits of a telephone number, which
 * may be written with blanks and signs.
 */
export type Optional = { words: ComparedWord[] } | { digits: string };

/** Word of a version, or optional text between words. */
export type ReadItem = ComparedWord | Optional;

/** Maximum number of ways to read a text that are followed at once; without it the time would grow with the square of the text's length. */
const mostWays = 200;

/**
 * True if the words of a text are the items in order, with or without each optional one at its own place. False if there are too many
 * ways to check.
 */
export function readsAs(items: readonly ReadItem[], text: readonly ComparedWord[]): boolean {
  let ways: ReadonlySet<number> = new Set([0]);
  for (const item of items) {
    ways = "key" in item ? afterWord(item, text, ways) : afterOptional(item, text, ways);
    if (ways.size === 0 || ways.size > mostWays) return false;
  }
  return ways.has(text.length);
}

function afterWord(word: ComparedWord, text: readonly ComparedWord[], ways: ReadonlySet<number>): Set<number> {
  const after = new Set<number>();
  for (const at of ways) if (text[at]?.key === word.key) after.add(at + 1);
  return after;
}

function afterOptional(optional: Optional, text: readonly ComparedWord[], ways: ReadonlySet<number>): Set<number> {
  const after = new Set(ways);
  for (const at of ways) {
    const end = "words" in optional ? endOfWords(optional.words, text, at) : endOfDigits(optional.digits, text, at);
    if (end !== undefined) after.add(end);
  }
  return after;
}

function endOfWords(words: readonly ComparedWord[], text: readonly ComparedWord[], at: number): number | undefined {
  return words.every(({ key }, index) => text[at + index]?.key === key) ? at + words.length : undefined;
}

/** Signs may be before and between the digits, but no other characters. */
function endOfDigits(digits: string, text: readonly ComparedWord[], at: number): number | undefined {
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
