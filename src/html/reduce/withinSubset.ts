import {
  blockElements,
  cells,
  globalAttributes,
  headings,
  keptAttributes,
  keptElements,
  maxDepth,
  maxReducedBytes,
  tableFrames,
  tableParts,
  voidElements,
} from "./names.ts";
import { isPlainAttribute } from "./plainAttribute.ts";

/**
 * True if HTML follows the small grammar of reduced bodies: known elements in lower case, each closed in order and placed where every
 * program would put it; known attributes in double quotes. Independent of the reducer: they share only the tables of names. Contrast is
 * not checked here.
 */
export function isWithinSubset(html: string): boolean {
  if (Buffer.byteLength(html) > maxReducedBytes) return false;
  const open: string[] = [];
  let at = 0;
  while (at < html.length) {
    const text = match(words, html, at);
    if (text) {
      if (tableFrames.has(open.at(-1) ?? "") && /[^ \t\n\f\r]/.test(text[0])) return false;
      at += text[0].length;
      continue;
    }
    const end = match(endTag, html, at);
    if (end) {
      if (open.pop() !== end[1]) return false;
      at += end[0].length;
      continue;
    }
    const tag = match(startTag, html, at);
    if (!tag) return false;
    const [whole, name = "", attributes = "", slash] = tag;
    if (!keptElements.has(name) || !mayStand(name, open) || !areKept(name, attributes)) return false;
    if (slash && !voidElements.has(name)) return false;
    if (!voidElements.has(name)) open.push(name);
    if (open.length > maxDepth) return false;
    at += whole.length;
  }
  return open.length === 0;
}

const words = /[^<]+/y;
const endTag = /<\/([a-z][a-z0-9]*)>/y;
const startTag = /<([a-z][a-z0-9]*)((?:[ \t\n\f\r]+[a-z]+="[^"<]*")*)[ \t\n\f\r]*(\/?)>/y;

function match(pattern: RegExp, html: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(html);
}

/** True if the element is allowed here without a program closing or moving anything for it. */
function mayStand(name: string, open: readonly string[]): boolean {
  const parent = open.at(-1) ?? "";
  if (tableParts.has(name)) return parents.get(name)?.includes(parent) ?? parent === "table";
  if (tableFrames.has(parent)) return false;
  if (name === "a") return !open.includes("a");
  if (name === "li") return parent === "ul" || parent === "ol";
  if (name === "dt" || name === "dd") return parent === "dl";
  if (headings.has(name) && headings.has(parent)) return false;
  return !blockElements.has(name) || !paragraphIsOpen(open);
}

const parents = new Map([
  ["td", ["tr"]],
  ["th", ["tr"]],
  ["tr", ["table", "thead", "tbody", "tfoot"]],
  ["col", ["colgroup"]],
]);

function paragraphIsOpen(open: readonly string[]): boolean {
  for (const name of open.toReversed()) {
    if (name === "p") return true;
    if (cells.has(name)) return false;
  }
  return false;
}

function areKept(name: string, attributes: string): boolean {
  const seen = new Set<string>();
  for (const [, attribute = "", value = ""] of attributes.matchAll(/([a-z]+)="([^"]*)"/g)) {
    if (seen.has(attribute)) return false;
    seen.add(attribute);
    if (!globalAttributes.has(attribute) && !keptAttributes.get(name)?.has(attribute)) return false;
    if (!isPlainAttribute(name, attribute, value)) return false;
  }
  return (name !== "a" || seen.has("href")) && (name !== "img" || seen.has("src"));
}
