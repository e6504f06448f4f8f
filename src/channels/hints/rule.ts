import { shortLine } from "#src/html/visible.ts";

/**
 * What a sentence has in it. `all`: each of these patterns, anywhere in it; `not`: none of these. The patterns know no repetition within a
 * repetition and no gap without a bound, so that each takes time in proportion to the sentence.
 */
export type Rule = { all: readonly RegExp[]; not?: RegExp };

/** A pattern of whole words in any language: `\b` knows the letters of English alone. */
export const words = (source: string): RegExp => new RegExp(`(?<![\\p{L}\\p{N}])(?:${source})(?![\\p{L}\\p{N}])`, "iu");

/** The first sentence that fits one of the rules, cut down to what matters and safe to look at; undefined if none does. */
export function firstFitting(rules: readonly Rule[], sentences: readonly string[]): string | undefined {
  for (const sentence of sentences) {
    const rule = rules.find(({ all, not }) => all.every((one) => one.test(sentence)) && !not?.test(sentence));
    if (rule) return quoted(sentence, rule);
  }
  return undefined;
}

const quoteLength = 160;

/** From a little before the first thing that was found. */
function quoted(sentence: string, { all }: Rule): string {
  const first = Math.min(...all.map((one) => one.exec(sentence)?.index ?? 0));
  const from = sentence.length <= quoteLength ? 0 : Math.max(0, sentence.lastIndexOf(" ", Math.max(0, first - 20)));
  return `${from > 0 ? "…" : ""}${shortLine(sentence.slice(from), quoteLength)}`;
}
