import { blockElements } from "../reduce/names.ts";
import { readTokens } from "../reduce/tokens.ts";
import type { Item, Optional } from "./optional.ts";
import { digitsOf, targetKey, withoutTargets } from "./targets.ts";
import { type Word, wordsOf } from "./words.ts";

/** What one version of a body says. `targets`: what it links to, or names in its text; the key of each, and how it is written. */
export type Reading = { words: Word[]; targets: Map<string, string> };

/**
 * Reads sanitised HTML (sanitise.ts): the numbers of lists are words. `items`: the words, and where pictures and numbers to call are
 * among them. `named`: the keys of what alternative texts name.
 */
export function readHtml(sanitised: string): Reading & { items: Item[]; named: Set<string> } {
  const { text, links, marked } = walk(sanitised);
  const targets = new Map(links.map((href) => [targetKey(href), href]));
  const { rest, keys } = withoutTargets(uncounted(text), new Set(targets.keys()));
  for (const key of keys) if (!targets.has(key)) targets.set(key, key);
  const named = new Set<string>();
  const optionals = marked.map((one) => optionalOf(one, named));
  const pieces = rest.split(mark).map((piece) => wordsOf(piece));
  const items = pieces.flatMap((piece, index): Item[] => [...piece, ...(optionals[index] ?? [])]);
  return { words: pieces.flat(), targets, items, named };
}

/** The marks of what cannot be seen (visible.ts) without their number: markup between two such characters makes two marks of one. */
const uncounted = (text: string): string => text.replace(/(\[U\+[0-9A-F]{4,6})(?: ×\d+)?\](?:\1(?: ×\d+)?\])*/g, "$1]");

/** A picture's alternative text, or what a link leads to. */
type Marked = { alternative: string } | { href: string };

/** Marks in the text where something optional is. Sanitised HTML has it nowhere: it would be written out. */
const mark = "\u0001";

function optionalOf(marked: Marked, named: Set<string>): Optional[] {
  if ("href" in marked) {
    const digits = digitsOf(marked.href);
    return digits === "" ? [] : [{ digits }];
  }
  const { words, targets } = readText(marked.alternative, new Set());
  for (const key of targets.keys()) named.add(key);
  return words.length === 0 ? [] : [{ words: words.map(({ key }) => key) }];
}

/** Reads plain text: marks of quotes, lists and emphasis are no words. `known`: targets to recognise without a scheme. */
export function readText(text: string, known: ReadonlySet<string>): Reading {
  const plain = uncounted(text)
    .replace(/^[ \t]*(?:>[ \t]?)+/gm, "")
    .replace(/^[ \t]*(?:[-*+•◦▪▫●○■□‣⁃–—·][ \t]+|#{1,6}[ \t]+)/gm, "")
    .replace(/\*\*|__|~~|`/g, "");
  const { rest, keys } = withoutTargets(plain, known);
  return { words: wordsOf(rest), targets: new Map(keys.map((key) => [key, key])) };
}

/**
 * The text with a line for each block, a number for each item of a numbered list, and the targets of its links. It has a mark for each of
 * `marked`, in their order.
 */
function walk(sanitised: string): { text: string; links: string[]; marked: Marked[] } {
  const parts: string[] = [];
  const links: string[] = [];
  const marked: Marked[] = [];
  const markHere = (one: Marked): void => {
    marked.push(one);
    parts.push(` ${mark} `);
  };
  const open: { name: string; link: { href: string; from: number } | null; image: boolean; next: number }[] = [];
  readTokens(sanitised, {
    open({ name, attributes }) {
      const attributeOf = (wanted: string) => attributes.find((one) => one.name === wanted)?.value;
      if (blockElements.has(name) || name === "br") parts.push("\n");
      if (name === "q") parts.push("“");
      const list = open.at(-1);
      if (name === "li" && list?.name === "ol") parts.push(`${list.next++}. `);
      if (name === "br" || name === "hr") return;
      const href = name === "span" ? attributeOf("data-href") : undefined;
      const image = name === "span" && attributeOf("class") === "image";
      if (image) markHere({ alternative: "" });
      if (href !== undefined && isCall(href)) markHere({ href });
      open.push({
        name,
        link: href === undefined ? null : { href, from: parts.length },
        image,
        next: Number(attributeOf("start") ?? 1),
      });
    },
    close(name) {
      const one = open.pop();
      if (blockElements.has(name)) parts.push("\n");
      if (name === "q") parts.push("”");
      if (!one?.link) return;
      links.push(one.link.href);
      // A link that shows its own target says nothing beyond it.
      const shown = parts.splice(one.link.from).join("");
      const marks = shown.split(mark).length - 1;
      const own = isOwnTarget(shown.replaceAll(mark, ""), one.link.href);
      parts.push(own ? ` ${`${mark} `.repeat(marks)}` : shown);
      if (isCall(one.link.href)) markHere({ href: one.link.href });
    },
    text(_source, text) {
      const picture = open.at(-1)?.image ? marked.at(-1) : undefined;
      if (picture && "alternative" in picture) picture.alternative += text;
      else parts.push(text.replaceAll(mark, " "));
    },
    comment() {},
    doctype() {},
  });
  for (const one of marked)
    if ("alternative" in one) one.alternative = one.alternative.replace(/^\[image(?:: )?/, "").replace(/\]$/, "");
  return { text: parts.join(""), links, marked };
}

const isCall = (href: string): boolean => /^\s*tel:/i.test(href);

/** The address itself, or the beginning of it that names its host. */
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
