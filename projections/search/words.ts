/** A word of a question: `part` stands for every word that holds it, `whole` for itself alone. */
export type Wanted = { word: string; match: "whole" | "part" | "prefix" | "suffix" };
/** Words that have to stand side by side, in this order. */
export type Term = { words: Wanted[] };
/** What a thread has to have, and what it must not have. */
export type Question = { having: Term[]; without: Term[] };

const ascii = /^[\0-\x7f]*$/;
const marks = /\p{M}+/gu;
/** Letters that people type without knowing how to type them, where Unicode sees no mark to take off. */
const plain: Record<string, string> = { ß: "ss", æ: "ae", œ: "oe", ø: "o", đ: "d", ð: "d", ł: "l", ı: "i", þ: "th" };
const special = /[ßæœøđðłıþ]/g;

/** Case, accents and forms of a letter taken away: Müller is muller, ＣＡＦÉ is cafe. */
export function fold(text: string): string {
  const lower = text.toLowerCase();
  if (ascii.test(lower)) return lower;
  const bare = lower.normalize("NFKD").replace(marks, "").normalize("NFC");
  return bare.replace(special, (letter) => plain[letter] as string);
}

/** Scripts that put no space between words: each sign is a word, and a word a row of them. */
const unspaced = "[\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}]";
const letters = "[\\p{L}\\p{N}]";
const wordPattern = new RegExp(`[${letters}&&${unspaced}]|[${letters}--${unspaced}]+`, "gv");
/** What is longer is found by its beginning. */
const longestWord = 60;

const asciiWordPattern = /[a-z0-9]+/g;

/** The words of a text, folded. An address, a number with hyphens and the like are several words side by side. */
export function wordsOf(text: string): string[] {
  const folded = fold(text);
  const found = folded.match(ascii.test(folded) ? asciiWordPattern : wordPattern) ?? [];
  return found.map((word) => (word.length > longestWord ? word.slice(0, longestWord) : word));
}

/** Parts of words are looked for from this length on; what is shorter has to be a whole word. */
export const shortestPart = 3;

/** So many parts of words are looked for, each of them in all of the vocabulary; what comes after them has to be whole words. */
export const mostParts = 8;

/** Reads what a person typed: words and parts of them, all of which are wanted; "phrases"; -without. Any text is a question. */
export function questionOf(text: string): Question {
  const question: Question = { having: [], without: [] };
  for (const [, minus, quoted, bare] of text.matchAll(/(-?)(?:"([^"]*)"?|([^\s"]+))/g)) {
    const words = wordsOf(quoted ?? bare ?? "");
    if (words.length === 0) continue;
    const term = { words: minus || quoted !== undefined ? words.map(whole) : partsOf(words) };
    (minus ? question.without : question.having).push(term);
  }
  let parts = 0;
  const limited = ({ words }: Term): Term => ({
    words: words.map((one) => (one.match !== "whole" && ++parts > mostParts ? whole(one.word) : one)),
  });
  return { ...question, having: question.having.map(limited) };
}

const whole = (word: string): Wanted => ({ word, match: "whole" });

/** `ann@cust` may begin within a word and end within one, and is exact between. */
function partsOf(words: readonly string[]): Wanted[] {
  return words.map((word, index) => {
    const [first, last] = [index === 0, index === words.length - 1];
    if (word.length < shortestPart || !(first || last)) return whole(word);
    return { word, match: first && last ? "part" : first ? "suffix" : "prefix" };
  });
}

/** Positions a text search vector can hold, and the distance between two fields, over which no phrase reaches. */
const lastPosition = 16_000;
const fieldGap = 10;

/** A vector's text and its distinct words. `senders` are the words a sender is found by; they begin with @. */
export function vectorOf(fields: readonly string[], sender: string): { vector: string; words: string[] } {
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
