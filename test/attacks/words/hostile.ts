import { Parser } from "htmlparser2";

/**
 * Hostile payloads. Each string that others may write has its own, so that a place that shows it can be told
 * from one that does not.
 */

/** Characters that no reader may be shown: control characters (a terminal obeys them), invisible ones, and direction marks. */
const ranges = [
  [0x00, 0x08],
  [0x0b, 0x1f],
  [0x7f, 0x9f],
  [0x061c, 0x061c],
  [0x115f, 0x1160],
  [0x180e, 0x180e],
  [0x200b, 0x200b],
  [0x200e, 0x200f],
  [0x2028, 0x202e],
  [0x2060, 0x206f],
  [0xfeff, 0xfeff],
] as const;

const isUnsafe = (code: number): boolean => ranges.some(([from, to]) => code >= from && code <= to);

/** Markup that must not take effect. */
const markup = `<i data-zq onclick=zq>"'</title></style></script></textarea><img data-zq src=x>`;

const turning = "\u202e\u200b\u2066";
const terminal = "\u001b[2J\u0007\u009b31m";

/** Returns a mark with hostile text around it. `several`: on several lines, the second of which looks like a header. */
export const payload = (mark: string, { several = false } = {}): string =>
  `${mark}${turning}${markup}&amp;${several ? `${terminal}\r\nBcc: ${mark}@evil.example\r\n\r\n` : ""}${mark}`;

/** Returns a mark of letters only, which no escaping changes. */
export const markOf = (n: number): string =>
  `zq${String(n)
    .split("")
    .map((digit) => "abcdefghij"[Number(digit)])
    .join("")}zq`;

export type Shown = { kind: "html" | "text" | "terminal"; content: string };

/** Returns the faults in how a place shows strangers' words. */
export function faultsOf({ kind, content }: Shown): string[] {
  if (kind === "html") return inHtml(content);
  const allowed = kind === "text" ? content.replace(/\r\n/g, "\n") : content;
  return unsafeIn(allowed);
}

function unsafeIn(text: string): string[] {
  const at = [...text].findIndex((character) => isUnsafe(character.codePointAt(0) as number));
  if (at < 0) return [];
  const around = [...text].slice(Math.max(0, at - 40), at + 40).join("");
  return [`U+${[...text][at]?.codePointAt(0)?.toString(16)} in ${JSON.stringify(around)}`];
}

/** Returns strangers' elements and attributes and unsafe characters, in the page and in its frames. */
function inHtml(page: string): string[] {
  const faults: string[] = [];
  const parser = new Parser({
    onopentag(name, attributes) {
      for (const [attribute, value] of Object.entries(attributes)) {
        if (attribute === "data-zq" || attribute.startsWith("on")) faults.push(`<${name} ${attribute}>`);
        faults.push(...unsafeIn(value));
        if (attribute === "srcdoc") faults.push(...inHtml(value).map((fault) => `in a frame: ${fault}`));
        if (/^(href|src|action)$/.test(attribute) && /^\s*(javascript|data:text)/i.test(value)) faults.push(value);
      }
    },
    ontext: (text) => faults.push(...unsafeIn(text)),
    oncomment: (text) => faults.push(`a comment: ${text.slice(0, 40)}`),
  });
  parser.end(page);
  return faults;
}
