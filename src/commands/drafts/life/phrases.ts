import { named } from "#src/channels/card/names.ts";
import { readableTime } from "#src/html/times.ts";
import { shortLine } from "#src/html/visible.ts";

/**
 * A piece of a sentence about what was recorded. A string is always our own word. `at`: an ISO time. `said`: what somebody wrote, to be quoted.
 * `exact`: an address or an id, which is not quoted.
 */
export type Phrase = string | { at: string } | { said: string } | { exact: string };

/** If a sentence quotes somebody, it stays a sentence. Characters. */
export const mostQuoted = 300;

type Part = Phrase | number | readonly Phrase[] | null | false;

/** A sentence made of our own words and what was recorded. Nothing is said for null and false. */
export const say = (strings: TemplateStringsArray, ...parts: Part[]): Phrase[] =>
  strings.flatMap((string, index) => [...phrasesOf(parts[index - 1] ?? null), ...(string === "" ? [] : [string])]);

function phrasesOf(part: Part): readonly Phrase[] {
  if (part === null || part === false) return [];
  if (typeof part === "number") return [String(part)];
  return Array.isArray(part) ? part : [part as Phrase];
}

/** "a", "a and b", "a, b and c". */
export const listed = (items: readonly (readonly Phrase[])[]): Phrase[] =>
  items.flatMap((item, index) => [...(index === 0 ? [] : [index === items.length - 1 ? " and " : ", "]), ...item]);

/** The sentence as plain text of one line, times in UTC: safe for a terminal. */
export const inText = (phrases: readonly Phrase[]): string => phrases.map(textOf).join("");

function textOf(phrase: Phrase): string {
  if (typeof phrase === "string") return phrase;
  if ("at" in phrase) return readableTime(phrase.at);
  return "said" in phrase ? named(phrase.said, mostQuoted) : shortLine(phrase.exact, mostQuoted);
}
