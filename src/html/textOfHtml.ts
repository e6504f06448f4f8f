import { compile, type FormatCallback, type SelectorDefinition } from "html-to-text";
import { maxHtmlBytes, maxHtmlDepth } from "./sanitise.ts";

/** What a reader of sanitised HTML (sanitise.ts) reads, as text: links followed by their target, images by their alternative text. */
export const textOfSanitised = (html: string): string => convertSanitised(html).trim();

/** The plain text that is sent beside reduced HTML, where its writer gave none. Nothing is cut: reduced HTML is bounded. */
export const textOfBody = (reducedHtml: string): string => convertBody(reducedHtml).trim();

/** Lines and paragraphs of plain text as reduced HTML. */
export function htmlOfText(text: string): string {
  return text
    .replace(/\r\n?/g, "\n")
    .split(/\n{2,}/)
    .filter((paragraph) => paragraph.trim() !== "")
    .map((paragraph) => `<p>${escapedText(paragraph.replace(/^\n|\n$/g, "")).replaceAll("\n", "<br>")}</p>`)
    .join("");
}

const escapedText = (text: string): string =>
  text.replace(/[&<>]/g, (character) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[character] ?? "");

type Node = Parameters<FormatCallback>[0];

const isFirst = (cell: Node): boolean =>
  cell.parent?.children?.find((sibling: Node) => sibling.type === "tag") === cell;

const cell: FormatCallback = (element, walk, builder) => {
  if (!isFirst(element)) builder.addInline(" | ");
  walk(element.children, builder);
};

const quotation: FormatCallback = (element, walk, builder) => {
  builder.addInline("“");
  walk(element.children, builder);
  builder.addInline("”");
};

const target: FormatCallback = (element, walk, builder) => {
  walk(element.children, builder);
  builder.addInline(` [${element.attribs["data-href"]}]`);
};

/** Its target, if it does not show it itself. */
const link: FormatCallback = (element, walk, builder) => {
  let shown = "";
  builder.pushWordTransform((word) => {
    shown += word;
    return word;
  });
  walk(element.children, builder);
  builder.popWordTransform();
  const href = String(element.attribs.href ?? "").replace(/^mailto:/i, "");
  if (href !== "" && href !== shown) builder.addInline(` [${href}]`, { noWordTransform: true });
};

const alternative: FormatCallback = (element, _walk, builder) => {
  const text = (element.attribs.alt ?? "").trim();
  if (text) builder.addInline(`[${text}]`);
};

const line = { format: "block", options: { leadingLineBreaks: 1, trailingLineBreaks: 1 } };

const structure: SelectorDefinition[] = [
  ...["tr", "caption", "dl", "dt", "dd"].map((selector) => ({ selector, ...line })),
  ...["td", "th"].map((selector) => ({ selector, format: "cell" })),
  ...["h1", "h2", "h3", "h4", "h5", "h6"].map((selector) => ({ selector, options: { uppercase: false } })),
  { selector: "q", format: "quotation" },
];

const common = {
  wordwrap: false as const,
  // Escaping makes at most five bytes of one, and the depth is bounded already.
  limits: { maxInputLength: 5 * maxHtmlBytes, maxDepth: 2 * maxHtmlDepth },
  formatters: { cell, quotation, target, link, alternative },
};

const convertSanitised = compile({
  ...common,
  selectors: [...structure, { selector: "span.link", format: "target" }],
});

const convertBody = compile({
  ...common,
  // Without the character that has no width, which is shown by its number.
  whitespaceCharacters: " \t\r\n\f",
  selectors: [...structure, { selector: "img", format: "alternative" }, { selector: "a", format: "link" }],
});
