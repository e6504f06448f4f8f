import { type Attribute, readTokens } from "#src/html/reduce/tokens.ts";
import { cutText } from "#streams/cutText.ts";
import { isHidden, lookOf, type MailLook, plainLook } from "./looks.ts";
import { beginsEarlierMail, isQuotation, type MailElement } from "./quotations.ts";
import { createStyleSheet } from "./styleSheet.ts";
import { createTextLines, type TextPosition } from "./textLines.ts";

/** The HTML of a mail, converted to text. */
export type MailText = {
  /** The visible text, with `> ` before lines that a mail program quotes. */
  text: string;
  /** Runs of text that are present but not visible. */
  hidden: string[];
  /** Runs of `text` that a style sheet may hide. */
  veiled: string[];
  /** Texts in places that no program displays: comments, the title. */
  aside: string[];
};

type RowState = { hasText: boolean; isOneLine: boolean };

/** An element that has not ended. Its row, cell and list apply to everything inside it. */
type OpenMailElement = MailElement & {
  look: MailLook;
  /** Rendering with the style sheets applied too. */
  veil: MailLook;
  isExact: boolean;
  row: RowState | undefined;
  /** `line`: the line where the cell's text begins; undefined while it has none. */
  cell: { line: number | undefined; around: OpenMailElement["cell"] } | undefined;
  list: { isOrdered: boolean; next: number; depth: number } | undefined;
  quotes: boolean;
  link: { href: string; from: TextPosition } | undefined;
};

/** Maximum number of open elements searched for the one that an end tag closes; bounds the time. */
const reach = 200;
/** Elements deeper than this do not affect the text inside. */
const maxOpen = 2_000;
const maxHref = 2_000;
const maxListDepth = 8;

const setOf = (names: string): ReadonlySet<string> => new Set(names.split(" "));
const empty = setOf("area base br col embed hr img input link meta param source track wbr");
const unread = setOf("style script");
/** Elements that are rendered specially even without attributes. */
const ofItsOwn = setOf("a template noscript");
const paragraphs = setOf("p h1 h2 h3 h4 h5 h6 ul ol table blockquote pre");
const blocks = setOf(
  "div tr li dt dd dl caption address article section header footer main nav aside figure figcaption center form fieldset legend summary option",
);
const cells = setOf("td th");

/**
 * Converts the HTML of a mail to text in one pass: rows and cells of tables stay apart, pictures give their alternative text, links their
 * target. Linear in the length of the HTML.
 */
export function readMailHtml(html: string): MailText {
  const found: MailText = { text: "", hidden: [], veiled: [], aside: [] };
  const lines = createTextLines();
  const open: OpenMailElement[] = [
    {
      ...{ name: "", attributes: new Map(), look: plainLook, veil: plainLook, isExact: false, quotes: false },
      ...{ row: undefined, cell: undefined, list: undefined, link: undefined },
    },
  ];
  const sheet = createStyleSheet();
  let css = "";
  let hidden = "";
  let veiled = "";
  const top = (): OpenMailElement => open.at(-1)!;

  function endHidden(): void {
    if (hidden.trim()) found.hidden.push(hidden.trim());
    hidden = "";
  }

  function endVeiled(): void {
    if (veiled.trim()) found.veiled.push(veiled.trim());
    veiled = "";
  }

  /** Writes on the line of the previous cell if this is the first text of its cell. */
  function write(writing: () => void): void {
    endHidden();
    const { cell, row } = top();
    if (cell && cell.line === undefined && row?.hasText && row.isOneLine) lines.separate(" | ");
    writing();
    const { line } = lines.place();
    for (let begun = cell; begun && begun.line === undefined; begun = begun.around) begun.line = line;
  }

  /** A cell starts on the line of its row, whatever block is at its start. */
  function breakLine(count: 1 | 2): void {
    const { cell, look } = top();
    if (!isHidden(look) && !(cell && cell.line === undefined)) lines.breakLine(count);
  }

  function breakFor(name: string): void {
    if (paragraphs.has(name)) breakLine(2);
    else if (blocks.has(name)) breakLine(1);
  }

  function openElement(name: string, attributes: readonly Attribute[]): void {
    const around = top();
    const given = new Map(attributes.map((attribute) => [attribute.name, attribute.value]));
    const isPlain = attributes.length === 0 && !ofItsOwn.has(name);
    const look = isPlain ? around.look : lookOf({ name, given }, around.look);
    const declared = sheet.declarationsFor({ name, attributes: given });
    const isAlike = declared === "" && around.veil === around.look;
    const veil = isAlike ? look : lookOf({ name, given }, around.veil, declared);
    if (empty.has(name)) {
      if (!isHidden(look)) writeEmpty(name, given);
      return;
    }
    if (cells.has(name) && around.row === undefined) openElement("tr", []);
    const element: OpenMailElement = { ...top(), name, attributes: given, look, veil, quotes: false, link: undefined };
    breakFor(name);
    if (open.length === maxOpen) return;
    if (!isHidden(look)) begin(element);
    open.push(element);
  }

  function begin(element: OpenMailElement): void {
    const { name, attributes, list, row, cell } = element;
    if (name === "pre") element.isExact = true;
    else if (name === "table") element.row = undefined;
    else if (name === "tr") element.row = { hasText: false, isOneLine: true };
    else if (cells.has(name)) {
      if (row?.isOneLine === false) lines.breakLine(1);
      element.cell = { line: undefined, around: cell };
    } else if (name === "a") element.link = { href: hrefOf(attributes), from: lines.place() };
    else if (name === "ul" || name === "ol") {
      const first = Number.parseInt(attributes.get("start") ?? "1", 10) || 1;
      element.list = { isOrdered: name === "ol", next: first, depth: (list?.depth ?? 0) + 1 };
    } else if (name === "li") lines.mark(markerOf(list));
    else if (beginsEarlierMail(element)) quoteRest();
    else if (isQuotation(element, { around: open, above: () => lines.last(3) })) {
      element.quotes = true;
      lines.quote(1);
    }
  }

  /** Quotes all that follows, unless it is inside a quotation already. */
  function quoteRest(): void {
    if (open.some(({ quotes }) => quotes)) return;
    open[0]!.quotes = true;
    lines.quote(1);
  }

  function closeElement(): void {
    const { name, attributes, row, cell, link, quotes } = open.pop()!;
    if (name === "style" && /^(?:all|screen)?$/i.test(attributes.get("media") ?? "")) sheet.add(css);
    if (name === "style") css = "";
    if (quotes) lines.quote(-1);
    if (link) writeTarget(link);
    if (name === "li") lines.mark("");
    if (cells.has(name) && row && cell?.line !== undefined) {
      const isOneLine = lines.place().line === cell.line;
      if (isOneLine) lines.withoutBreak();
      row.isOneLine &&= isOneLine;
      row.hasText = true;
    }
    breakFor(name);
  }

  function writeTarget({ href, from }: { href: string; from: TextPosition }): void {
    const shown = lines.since(from)?.trim();
    if (href !== "" && !isSaid(href, shown)) write(() => lines.text(shown === "" ? `[${href}]` : ` [${href}]`));
  }

  function writeEmpty(name: string, given: ReadonlyMap<string, string>): void {
    if (name === "br") lines.forceBreak();
    else if (name === "hr") breakLine(2);
    else if (name === "img") {
      const picture = pictureOf(given);
      if (picture !== "") write(() => lines.text(picture));
    }
  }

  function endImplied(name: string): void {
    while (open.length > 1 && isEndedBy(top().name, name)) closeElement();
  }

  readTokens(html, {
    open({ name, attributes }) {
      endImplied(name);
      openElement(name, attributes);
    },
    close(name) {
      let at = open.length - 1;
      while (at > 0 && open[at]!.name !== name) at = open.length - at < reach ? at - 1 : 0;
      while (at > 0 && open.length > at) closeElement();
    },
    text(_source, text) {
      const { name, look, veil, isExact } = top();
      if (name === "style") css += text;
      if (unread.has(name)) return;
      if (name === "title") found.aside.push(text);
      else if (isHidden(look)) hidden += text;
      else if (text.trim() === "" && !isExact) lines.text(text);
      else {
        if (isHidden(veil)) veiled += `${text} `;
        else endVeiled();
        write(() => (isExact ? lines.exactText(text) : lines.text(text)));
      }
    },
    comment: (text) => void found.aside.push(text),
    doctype() {},
  });
  while (open.length > 1) closeElement();
  endHidden();
  endVeiled();
  return { ...found, text: lines.end() };
}

/** True for an open element that browsers close without an end tag when another begins. */
function isEndedBy(name: string, next: string): boolean {
  if (name === "p") return paragraphs.has(next) || blocks.has(next) || cells.has(next) || next === "hr";
  if (name === "li" || name === "tr" || name === "option") return next === name;
  if (name === "dt" || name === "dd") return next === "dt" || next === "dd";
  return cells.has(name) && (cells.has(next) || next === "tr");
}

const hrefOf = (attributes: ReadonlyMap<string, string>): string => {
  const href = (attributes.get("href") ?? "").trim();
  return href.startsWith("#") ? "" : cutText(href, maxHref);
};

/** True if the words of a link equal its target. */
function isSaid(href: string, shown: string | undefined): boolean {
  if (shown === undefined) return false;
  const target = href.replace(/^mailto:/i, "");
  return [target, target.replace(/^https?:\/\//i, ""), target.replace(/\/$/, "")].includes(shown);
}

/**
 * Returns the text for a picture. A picture without alternative text gets a placeholder only if it is enclosed in the mail, because a
 * remote one is often only a tracking pixel.
 */
function pictureOf(attributes: ReadonlyMap<string, string>): string {
  const alternative = (attributes.get("alt") ?? "").trim();
  if (alternative !== "") return `[image: ${alternative}]`;
  return /^\s*cid:/i.test(attributes.get("src") ?? "") ? "[image]" : "";
}

function markerOf(list: OpenMailElement["list"]): string {
  if (!list) return "* ";
  const indent = "  ".repeat(Math.min(list.depth, maxListDepth) - 1);
  if (!list.isOrdered) return `${indent}* `;
  list.next += 1;
  return `${indent}${list.next - 1}. `;
}
