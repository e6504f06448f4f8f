import { named } from "#src/channels/card/names.ts";
import { readableTime } from "#src/html/times.ts";
import { shortLine } from "#src/html/visible.ts";

/**
 * Part of a sentence about recorded facts. A string is fixed text. `at`: ISO time. `said`: text by a user, to be quoted. `exact`: an
 * address or id, shown without quotation marks.
 */
export type Phrase = string | { at: string } | { said: string } | { exact: string };

/** Maximum length of a quotation in characters, so that the sentence stays readable. */
export const maxQuoted = 300;

type PhrasePart = Phrase | number | readonly Phrase[] | null | false;

/** Composes a sentence from fixed text and recorded facts. null and false add nothing. */
export const joinPhrases = (strings: TemplateStringsArray, ...parts: PhrasePart[]): Phrase[] =>
  strings.flatMap((string, index) => [...phrasesOf(parts[index - 1] ?? null), ...(string === "" ? [] : [string])]);

function phrasesOf(part: PhrasePart): readonly Phrase[] {
  if (part === null || part === false) return [];
  if (typeof part === "number") return [String(part)];
  return Array.isArray(part) ? part : [part as Phrase];
}

/** Joins items with commas and "and": "a", "a and b", "a, b and c". */
export const listInWords = (items: readonly (readonly Phrase[])[]): Phrase[] =>
  items.flatMap((item, index) => [...(index === 0 ? [] : [index === items.length - 1 ? " and " : ", "]), ...item]);

/** Renders a sentence as plain text on one line, with times in UTC. The text is safe to print on a terminal. */
export const toPlainText = (phrases: readonly Phrase[]): string => phrases.map(textOf).join("");

function textOf(phrase: Phrase): string {
  if (typeof phrase === "string") return phrase;
  if ("at" in phrase) return readableTime(phrase.at);
  return "said" in phrase ? named(phrase.said, maxQuoted) : shortLine(phrase.exact, maxQuoted);
}
