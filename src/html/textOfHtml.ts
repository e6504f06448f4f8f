import { compile, type DomNode } from "html-to-text";
import { maxHtmlBytes, maxHtmlDepth } from "./sanitise.ts";

/** What a reader of sanitised HTML (sanitise.ts) reads, as text: links followed by their target, images by their alternative text. */
export const textOfSanitised = (html: string): string => convert(html).trim();

/** Only the words of sanitised HTML, in lower case: neither targets of links nor images. For comparing. */
export function wordsOfSanitised(html: string): string {
  const text = html
    .replace(/<span class="image">[^<]*<\/span>/g, " ")
    .replace(/<\/?(?:span|b|strong|i|em|u|s|del|ins|sub|sup|small|code|kbd|q|cite|abbr|mark)\b[^>]*>/g, "")
    .replace(/<[^>]*>/g, " ")
    .replace(/&(amp|lt|gt|quot);/g, (_, name: string) => entities[name] ?? " ");
  return wordsIn(text);
}

/** The words of a text, in lower case and one space apart, web addresses left out. */
export function wordsIn(text: string): string {
  const withoutLinks = text.replace(/\b(?:https?:\/\/|mailto:|tel:)\S+/gi, " ");
  return (withoutLinks.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).join(" ");
}

const entities: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"' };

const isFirst = (cell: DomNode): boolean => cell.parent?.children?.find((sibling) => sibling.type === "tag") === cell;

const convert = compile({
  wordwrap: false,
  // Escaping makes at most five bytes of one, and the depth is bounded already.
  limits: { maxInputLength: 5 * maxHtmlBytes, maxDepth: 2 * maxHtmlDepth },
  formatters: {
    cell: (element, walk, builder) => {
      if (!isFirst(element)) builder.addInline(" | ");
      walk(element.children, builder);
    },
    link: (element, walk, builder) => {
      walk(element.children, builder);
      builder.addInline(` [${element.attribs["data-href"]}]`);
    },
  },
  selectors: [
    { selector: "tr", format: "block", options: { leadingLineBreaks: 1, trailingLineBreaks: 1 } },
    ...["td", "th"].map((selector) => ({ selector, format: "cell" })),
    ...["h1", "h2", "h3", "h4", "h5", "h6"].map((selector) => ({ selector, options: { uppercase: false } })),
    { selector: "span.link", format: "link" },
  ],
});
