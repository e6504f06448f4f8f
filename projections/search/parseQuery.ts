import { wordsOf } from "./words.ts";

/** Word of a search: `part` matches every word that contains it, `whole` only the word itself. */
export type SearchWord = { word: string; match: "whole" | "part" | "prefix" | "suffix" };
/** Words that must be adjacent, in this order. */
export type SearchTerm = { words: SearchWord[] };
/** Terms that a thread must have, and must not have. */
export type SearchQuery = { having: SearchTerm[]; without: SearchTerm[] };

/** Minimum number of characters of a searched part of a word; a shorter text must be a whole word. */
export const shortestPart = 3;

/** Maximum number of parts of words in a search, each looked up in the whole vocabulary; further ones must be whole words. */
export const mostParts = 8;

/** Parses a person's search: words and parts of them, all required; "phrases"; -without. Any text is valid. */
export function parseQuery(text: string): SearchQuery {
  const question: SearchQuery = { having: [], without: [] };
  for (const [, minus, quoted, bare] of text.matchAll(/(-?)(?:"([^"]*)"?|([^\s"]+))/g)) {
    const words = wordsOf(quoted ?? bare ?? "");
    if (words.length === 0) continue;
    const term = { words: minus || quoted !== undefined ? words.map(whole) : partsOf(words) };
    (minus ? question.without : question.having).push(term);
  }
  let parts = 0;
  const limited = ({ words }: SearchTerm): SearchTerm => ({
    words: words.map((one) => (one.match !== "whole" && ++parts > mostParts ? whole(one.word) : one)),
  });
  return { ...question, having: question.having.map(limited) };
}

const whole = (word: string): SearchWord => ({ word, match: "whole" });

/** Returns the parts of a bare search word: `ann@cust` may begin within a word and end within one, and is exact between. */
function partsOf(words: readonly string[]): SearchWord[] {
  return words.map((word, index) => {
    const [first, last] = [index === 0, index === words.length - 1];
    if (word.length < shortestPart || !(first || last)) return whole(word);
    return { word, match: first && last ? "part" : first ? "suffix" : "prefix" };
  });
}
