import { targetKey, withoutPunctuation } from "./compare/targets.ts";
import { type MarkedRun, runsOf } from "./letter/markedText.ts";

/**
 * Converts a person's text to HTML: paragraphs, line breaks, `~~struck~~` and `{+underlined+}` text, and links of web and mail addresses.
 * Both forms read the same (compare/). The result is reduced like any body before it is stored.
 */
export const htmlOfWritten = (text: string): string =>
  text
    .replace(/\r\n?/g, "\n")
    .split(/\n[ \t]*\n\s*/)
    .map((paragraph) => paragraph.replace(/^\n+/, "").trimEnd())
    .filter((paragraph) => paragraph !== "")
    .map((paragraph) => `<p>${runsOf(paragraph, { heights: false }).map(marked).join("").replaceAll("\n", "<br>")}</p>`)
    .join("");

/** Matches a web address, or a mail address with nothing joined to it. */
const addresses =
  /\b(?:https?:\/\/|www\.)[^\s<>"|]+|(?<![^\s(<[,;:])[a-z0-9._%+-]{1,64}@[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){1,8}(?![a-z0-9@-])/gi;

function marked({ text, marks }: MarkedRun): string {
  const underlined = marks.includes("+") ? `<u>${linked(text)}</u>` : linked(text);
  return marks.includes("~") ? `<s>${underlined}</s>` : underlined;
}

function linked(text: string): string {
  const parts: string[] = [];
  let from = 0;
  for (const { 0: found, index } of text.matchAll(addresses)) {
    const shown = withoutPunctuation(found);
    if (targetKey(shown) === "") continue;
    parts.push(escaped(text.slice(from, index)), `<a href="${escaped(targetOf(shown))}">${escaped(shown)}</a>`);
    from = index + shown.length;
  }
  return [...parts, escaped(text.slice(from))].join("");
}

const targetOf = (shown: string): string =>
  /^https?:/i.test(shown) ? shown : /^www\./i.test(shown) ? `https://${shown}` : `mailto:${shown}`;

const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

const escaped = (text: string): string => text.replace(/[&<>"]/g, (character) => entities[character] ?? "");
