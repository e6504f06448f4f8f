import { shortLine } from "#src/html/visible.ts";

/**
 * Patterns for a sentence. `all`: all of these have to match; `not`: none of these may. The patterns have no nested repetition and no
 * unbounded gap, so each is linear in the sentence's length.
 */
export type HintRule = { all: readonly RegExp[]; not?: RegExp };

/** Builds a pattern that matches whole words in any language: `\b` knows English letters only. */
export const words = (source: string): RegExp => new RegExp(`(?<![\\p{L}\\p{N}])(?:${source})(?![\\p{L}\\p{N}])`, "iu");

/** Returns the first sentence that matches a rule, cut to the relevant part and safe to display; undefined if none does. */
export function firstFitting(rules: readonly HintRule[], sentences: readonly string[]): string | undefined {
  for (const sentence of sentences) {
    const rule = rules.find(({ all, not }) => all.every((one) => one.test(sentence)) && !not?.test(sentence));
    if (rule) return quoted(sentence, rule);
  }
  return undefined;
}

const quoteLength = 160;

/** Returns the excerpt from a little before the first match. */
function quoted(sentence: string, { all }: HintRule): string {
  const first = Math.min(...all.map((one) => one.exec(sentence)?.index ?? 0));
  const from = sentence.length <= quoteLength ? 0 : Math.max(0, sentence.lastIndexOf(" ", Math.max(0, first - 20)));
  return `${from > 0 ? "…" : ""}${shortLine(sentence.slice(from), quoteLength)}`;
}
