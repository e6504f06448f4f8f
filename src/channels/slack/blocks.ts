import { cutText } from "#streams/cutText.ts";
import { unlinked } from "../email/excerpt.ts";

/** The parts of Slack's Block Kit that the card uses. Lengths are counted in characters, as Slack counts them. */

export type PlainText = { type: "plain_text"; text: string; emoji: false };
type Markdown = { type: "mrkdwn"; text: string; verbatim: true };
export type Button = {
  type: "button";
  action_id: string;
  text: PlainText;
  value?: string;
  url?: string;
  style?: "primary" | "danger";
};
export type Block =
  | { type: "header"; text: PlainText }
  | { type: "section"; text: PlainText | Markdown }
  | { type: "context"; elements: (PlainText | Markdown)[] }
  | { type: "divider" }
  | { type: "actions"; block_id: string; elements: Button[] };

/** Slack's own limit of a section is 3,000. */
export const maxSection = 2_900;
const maxHeader = 150;

/** Escapes the three special characters of Slack's markup. Slack unescapes them wherever it shows text. */
export const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

/**
 * Makes quoted text that no program turns into a link or a mention: Slack's own programs link web addresses in plain text too, and other
 * chats that receive Slack's messages ignore blocks and read the text as Markdown. The inserted separators have no width.
 */
export const neutral = (text: string): string =>
  unlinked(text)
    .replace(/@(?=\S)/g, `@${apart}`)
    .replace(/\](?=[([:])/g, `]${apart}`);

const apart = "\u200c";

/** Applies `neutral` to each text in a value. */
export function allNeutral<T>(value: T): T {
  if (typeof value === "string") return neutral(value) as T;
  if (Array.isArray(value)) return value.map(allNeutral) as T;
  if (typeof value !== "object" || value === null || value instanceof Map) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, allNeutral(inner)])) as T;
}

/** Makes text that Slack shows literally: no markup, no mention, no `:emoji:`. `text` is not escaped yet, and not empty. */
export const plain = (text: string): PlainText => ({ type: "plain_text", text: escaped(text), emoji: false });

/** Makes text of ours with Slack's markup. Anything quoted in it must be escaped already. */
export const markdown = (text: string): Markdown => ({ type: "mrkdwn", text, verbatim: true });

export const header = (text: string): Block => ({ type: "header", text: plain(chunks(text, maxHeader)[0] ?? "") });
export const label = (text: string): Block => ({ type: "section", text: markdown(`*${escaped(text)}*`) });
export const divider: Block = { type: "divider" };
export const note = (text: string): Block => ({ type: "context", elements: [plain(text)] });

/** Makes as many sections as a text needs. */
export const sections = (text: string): Block[] =>
  chunks(text, maxSection).map((part) => ({ type: "section", text: plain(part) }));

/**
 * Splits a text into parts that are at most `max` long after escaping: at the end of a line, else of a word, else anywhere except within
 * a character.
 */
export function chunks(text: string, max: number): string[] {
  const parts: string[] = [];
  let rest = text;
  while (rest !== "") {
    const fitting = fits(rest, max);
    const end = fitting === rest.length ? fitting : goodEnd(rest, fitting);
    const part = rest.slice(0, end);
    if (part.trim() !== "") parts.push(part.replace(/(?<!\n)\n+$/, ""));
    rest = rest.slice(end).replace(/^\n/, "");
  }
  return parts;
}

/** Returns how many of a text's first units are at most `max` long after escaping and end with a character. At least one. */
export function fits(text: string, max: number): number {
  let length = 0;
  let end = 0;
  for (const character of text) {
    length += escaped(character).length;
    if (length > max && end > 0) return cutText(text, end).length;
    end += character.length;
  }
  return end;
}

function goodEnd(text: string, fitting: number): number {
  const line = text.lastIndexOf("\n", fitting - 1) + 1;
  if (line > fitting / 2) return line;
  const word = text.lastIndexOf(" ", fitting - 1) + 1;
  return word > fitting / 2 ? word : fitting;
}
