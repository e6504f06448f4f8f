import { wordsOf } from "./words.ts";

/** A word of a question: `part` stands for every word that holds it, `whole` for itself alone. */
export type Wanted = { word: string; match: "whole" | "part" | "prefix" | "suffix" };
/** Words that have to be side by side, in this order. */
export type Term = { words: Wanted[] };
/** What a thread has to have, and what it must not have. */
export type Question = { having: Term[]; without: Term[] };

/** Parts of words are looked for from this length on; what is shorter has to be a whole word. */
export const shortestPart = 3;

/** So many parts of words are looked for, each of them in all of the vocabulary; what comes after them has to be whole words. */
export const mostParts = 8;

/** Reads what a person typed: words and parts of them, all of which are wanted; "phrases"; -without. Any text is a question. */
export function parseQuery(text: string): Question {
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
