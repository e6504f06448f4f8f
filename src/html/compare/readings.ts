import { runsOf } from "../letter/markedText.ts";
import { plainText } from "../letter/plainText.ts";
import { type LetterPiece, targetOf, wordsIn } from "../letter/readLetter.ts";
import { visible } from "../visible.ts";
import type { Optional, ReadItem } from "./optional.ts";
import { digitsOf, targetKey, withoutTargets } from "./targets.ts";
import { type ComparedWord, wordsOf } from "./words.ts";

/** The content of one form of a body. `targets`: what it links to, or names in its text; by key, with the original spelling. */
export type ComparedReading = { words: ComparedWord[]; targets: Map<string, string> };

/**
 * Reads a letter by its plain text, with link targets and optional text taken out. `items`: the words, with pictures and telephone
 * numbers between them. `named`: keys of the targets that alternative texts name.
 */
export function readHtml(letter: readonly LetterPiece[]): ComparedReading & { items: ReadItem[]; named: Set<string> } {
  const targets = new Map<string, string>();
  const named = new Set<string>();
  const optionals: Optional[][] = [];
  const optionalHere = (optional: Optional[]): string => ` ${place}${optionals.push(optional) - 1}${place} `;
  const text = plainText(letter, {
    show: visible,
    picture: ({ attributes }) => optionalHere(alternativeOf(visible(attributes.get("alt") ?? ""), named)),
    link(link) {
      const target = visible(targetOf(link));
      targets.set(targetKey(target), target);
      const digits = /^tel:/i.test(target) ? digitsOf(target) : "";
      const beside = (): string => (digits === "" ? " " : optionalHere([{ digits }]));
      // A link that shows its own target has no text besides.
      const isHidden = isOwnTarget(visible(wordsIn(link.pieces)), target);
      return isHidden || digits !== "" ? { isHidden, before: beside(), after: beside() } : {};
    },
  });
  const { rest, keys } = withoutTargets(withoutLayout(text), new Set(targets.keys()));
  for (const key of keys) if (!targets.has(key)) targets.set(key, key);
  const items = runsOf(rest).flatMap(({ text, marks }) =>
    text.split(optionalPlaces).flatMap((part, index): ReadItem[] => {
      if (index % 2 === 0) return wordsOf(part, marks);
      return (optionals[Number(part)] ?? []).map((one) => ("words" in one ? inMarks(one, marks) : one));
    }),
  );
  const words = items.filter((item) => "key" in item);
  return { words, targets, items, named };
}

/** Delimits the index of optional text. The letter's own text cannot contain this character: `visible` would have replaced it. */
const place = "\u0001";
const optionalPlaces = new RegExp(`${place}(\\d+)${place}`);

const inMarks = ({ words }: { words: ComparedWord[] }, marks: string): Optional => ({
  words: words.flatMap(({ shown }) => wordsOf(shown, marks)),
});

/** Removes the counts from marks of invisible characters (visible.ts): markup between two such characters splits one mark into two. */
const uncounted = (text: string): string => text.replace(/(\[U\+[0-9A-F]{4,6})(?: ×\d+)?\](?:\1(?: ×\d+)?\])*/g, "$1]");

/** Returns the words of a picture. */
function alternativeOf(alternative: string, named: Set<string>): Optional[] {
  const { words, targets } = readText(alternative, new Set());
  for (const key of targets.keys()) named.add(key);
  return words.length === 0 ? [] : [{ words }];
}

/** Reads plain text. `known`: targets to recognise even without a scheme. */
export function readText(text: string, known: ReadonlySet<string>): ComparedReading {
  const { rest, keys } = withoutTargets(withoutLayout(text), known);
  const words = runsOf(rest).flatMap((run) => wordsOf(run.text, run.marks));
  return { words, targets: new Map(keys.map((key) => [key, key])) };
}

/**
 * Removes layout from text: marks of quotes, lists and emphasis, and the word before a picture's own. Superscript and subscript digits
 * are written like any raised or lowered text.
 */
const withoutLayout = (text: string): string =>
  uncounted(text)
    .replace(/^[ \t]*(?:>[ \t]?)+/gm, "")
    .replace(/^[ \t]*(?:[-*+•◦▪▫●○■□‣⁃–—·][ \t]+|#{1,6}[ \t]+)/gm, "")
    .replace(/\[image(?:: ?|(?=\]))/g, "[")
    .replace(/\*\*|__|`/g, "")
    .replace(/[⁰¹²³⁴-⁹]+/g, (digits) => `^(${digits.normalize("NFKC")})`)
    .replace(/[₀-₉]+/g, (digits) => `_(${digits.normalize("NFKC")})`);

/** True if the text is the address itself, or a beginning of it that names its host. */
function isOwnTarget(shown: string, href: string): boolean {
  const text = shown.trim().replace(/(?:…|\.\.\.)$/, "");
  if (text === "" || /\s/.test(text)) return false;
  const key = targetKey(href);
  if (key.startsWith("mailto:")) return key === targetKey(`mailto:${text.replace(/^mailto:/i, "")}`);
  const own = targetKey(text);
  return (
    own === key ||
    (own.includes(".") && (key.startsWith(`${own}/`) || `www.${own}` === key || key.startsWith(`www.${own}/`)))
  );
}
