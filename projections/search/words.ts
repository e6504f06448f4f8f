const ascii = /^[\0-\x7f]*$/;
const marks = /\p{M}+/gu;
/** Letters that people replace by plain ones, and from which Unicode removes no mark. */
const plain: Record<string, string> = { ß: "ss", æ: "ae", œ: "oe", ø: "o", đ: "d", ð: "d", ł: "l", ı: "i", þ: "th" };
const special = /[ßæœøđðłıþ]/g;

/** Removes case, accents and forms of letters: Müller becomes muller, ＣＡＦÉ becomes cafe, № becomes no. */
export function foldText(text: string): string {
  const lower = text.toLowerCase();
  if (ascii.test(lower)) return lower;
  // Some signs without a lower case, such as ™, have capital letters in their plain form.
  const bare = lower.normalize("NFKD").replace(marks, "").normalize("NFC").toLowerCase();
  return bare.replace(special, (letter) => plain[letter] as string);
}

/** Scripts without spaces between words: each character counts as a word, and a word as a phrase. */
const unspaced = "[\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}]";
const letters = "[\\p{L}\\p{N}]";
const wordPattern = new RegExp(`[${letters}&&${unspaced}]|[${letters}--${unspaced}]+`, "gv");
/** Maximum number of UTF-16 code units of an indexed word; a longer word is found by its beginning. */
const longestWord = 60;

/**
 * Returns the beginning of a text, at most `length` UTF-16 code units. It does not end within a character: PostgreSQL refuses JSON with half
 * a character.
 */
export const beginningOf = (text: string, length: number): string =>
  text.slice(0, length).replace(/[\ud800-\udbff]$/, "");

const asciiWordPattern = /[a-z0-9]+/g;

/** Returns the words of a text, folded. An address, a number with hyphens and the like are several adjacent words. */
export function wordsOf(text: string): string[] {
  const folded = foldText(text);
  const found = folded.match(ascii.test(folded) ? asciiWordPattern : wordPattern) ?? [];
  return found.map((word) => (word.length > longestWord ? beginningOf(word, longestWord) : word));
}

/** Positions a text search vector can hold, and the distance between two fields, over which no phrase reaches. */
const lastPosition = 16_000;
const fieldGap = 10;

/** Returns a vector's text and its distinct words. `senders`: the words of a sender, which begin with @. */
export function searchVector(fields: readonly string[], sender: string): { vector: string; words: string[] } {
  const positions = new Map<string, number[]>();
  let position = 0;
  const add = (word: string): void => {
    position += 1;
    if (position > lastPosition) return;
    const known = positions.get(word);
    if (!known) positions.set(word, [position]);
    else if (known.length < 250) known.push(position);
  };
  for (const word of wordsOf(sender)) add(`@${word}`);
  for (const field of fields) {
    position += fieldGap;
    for (const word of wordsOf(field)) add(word);
  }
  const vector = [...positions].map(([word, at]) => `${word}:${at.join(",")}`).join(" ");
  return { vector, words: [...positions.keys()] };
}
