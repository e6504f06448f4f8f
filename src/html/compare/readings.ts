import { blockElements } from "../reduce/names.ts";
import { readTokens } from "../reduce/tokens.ts";
import { targetKey, withoutTargets } from "./targets.ts";
import { type Word, wordsOf } from "./words.ts";

/** What one version of a body says. `targets`: what it links to, or names in its text; the key of each, and how it is written. */
export type Reading = { words: Word[]; targets: Map<string, string>; alternatives: Set<string> };

/** Reads sanitised HTML (sanitise.ts): the numbers of lists are words, alternative texts of pictures are kept apart. */
export function readHtml(sanitised: string): Reading {
  const { text, links, alternatives } = walk(sanitised);
  const targets = new Map(links.map((href) => [targetKey(href), href]));
  const { rest, keys } = withoutTargets(text, new Set(targets.keys()));
  for (const key of keys) if (!targets.has(key)) targets.set(key, key);
  return { words: wordsOf(rest), targets, alternatives: new Set(wordsOf(alternatives).map(({ key }) => key)) };
}

/** Reads plain text: marks of quotes, lists and emphasis are no words. `known`: targets to recognise without a scheme. */
export function readText(text: string, known: ReadonlySet<string>): Reading {
  const plain = text
    .replace(/^[ \t]*(?:>[ \t]?)+/gm, "")
    .replace(/^[ \t]*(?:[-*+•◦▪▫●○■□‣⁃–—·][ \t]+|#{1,6}[ \t]+)/gm, "")
    .replace(/\*\*|__|~~|`/g, "");
  const { rest, keys } = withoutTargets(plain, known);
  return { words: wordsOf(rest), targets: new Map(keys.map((key) => [key, key])), alternatives: new Set() };
}

/** The text with a line for each block, a number for each item of a numbered list, and the targets of its links. */
function walk(sanitised: string): { text: string; links: string[]; alternatives: string } {
  const parts: string[] = [];
  const links: string[] = [];
  const alternatives: string[] = [];
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
      open.push({
        name,
        link: href === undefined ? null : { href, from: parts.length },
        image: name === "span" && attributeOf("class") === "image",
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
      parts.push(isOwnTarget(shown, one.link.href) ? " " : shown);
    },
    text(_source, text) {
      const image = open.at(-1)?.image;
      if (image) alternatives.push(text);
      parts.push(image ? " " : text);
    },
    comment() {},
    doctype() {},
  });
  return { text: parts.join(""), links, alternatives: alternatives.join(" ").replace(/\[image(?::|\])/g, " ") };
}

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
