import { html, Markup, type Value } from "#src/html/html.ts";

/**
 * The little of Markdown that the project's own pages use, as HTML: headings, paragraphs, lists, tables, code, emphasis and links. Every text
 * is escaped, HTML in it too; a link that is not to the web, to a path or to an anchor is left as text. Anchors are those of GitHub.
 */
export function renderMarkdown(text: string, linkTo: (target: string) => string = (target) => target): Markup {
  const slug = slugger();
  const inline = (value: string): Value => inlineOf(value, linkTo);
  return html`${blocksOf(text.split("\n")).map((block) => rendered(block, inline, slug))}`;
}

/** The title of a page: its first heading, or nothing. */
export const titleOf = (text: string): string => plain(/^# (.+)$/m.exec(text)?.[1] ?? "");

/** The anchors of a page's headings, in their order. */
export function anchorsOf(text: string): string[] {
  const slug = slugger();
  return blocksOf(text.split("\n")).flatMap((block) => (block.kind === "heading" ? [slug(block.text)] : []));
}

type Block =
  | { kind: "heading"; depth: number; text: string }
  | { kind: "paragraph"; text: string }
  | { kind: "code"; text: string }
  | { kind: "table"; head: string[]; rows: string[][] }
  | { kind: "list"; ordered: boolean; items: string[][] };

const item = /^(\s*)(?:[-*]|(\d+)\.) +(.*)$/;
const opensBlock = /^(#{1,6} |```|\||<!--)/;

function blocksOf(lines: readonly string[]): Block[] {
  const blocks: Block[] = [];
  for (let at = 0; at < lines.length; ) {
    const line = lines[at] as string;
    const end = endOf(lines, at);
    const within = lines.slice(at, end);
    const heading = /^(#{1,6}) +(.*?)\s*$/.exec(line);
    if (line.startsWith("```")) blocks.push({ kind: "code", text: within.slice(1, -1).join("\n") });
    else if (heading) blocks.push({ kind: "heading", depth: heading[1]!.length, text: heading[2]! });
    else if (line.startsWith("|")) blocks.push(tableOf(within));
    else if (item.test(line)) blocks.push(listOf(within));
    else if (line.trim() !== "" && !line.startsWith("<!--")) blocks.push({ kind: "paragraph", text: joined(within) });
    at = end;
  }
  return blocks;
}

/** Where the block that begins at this line ends. */
function endOf(lines: readonly string[], from: number): number {
  const line = lines[from] as string;
  const whereNot = (belongs: (next: string) => boolean): number => {
    const length = lines.slice(from + 1).findIndex((next) => !belongs(next));
    return length < 0 ? lines.length : from + 1 + length;
  };
  if (line.startsWith("```")) return Math.min(lines.length, whereNot((next) => !next.startsWith("```")) + 1);
  if (line.startsWith("|")) return whereNot((next) => next.startsWith("|"));
  if (item.test(line)) return whereNot((next) => item.test(next) || /^\s+\S/.test(next));
  if (line.trim() === "" || opensBlock.test(line)) return from + 1;
  return whereNot((next) => next.trim() !== "" && !opensBlock.test(next) && !item.test(next));
}

const joined = (lines: readonly string[]): string => lines.map((line) => line.trim()).join(" ");

function tableOf(lines: readonly string[]): Block {
  const [head = [], , ...rows] = lines.map(cellsOf);
  return { kind: "table", head, rows };
}

/** A bar inside code, or behind a backslash, is part of the cell. */
const cellsOf = (line: string): string[] =>
  [...line.matchAll(/\|((?:`[^`]*`|\\.|[^|\\])*)(?=\|)/g)].map((match) => match[1]!.replaceAll("\\|", "|").trim());

function listOf(lines: readonly string[]): Block {
  const [, indent = "", number] = item.exec(lines[0] as string) ?? [];
  const items: string[][] = [];
  for (const line of lines) {
    const found = item.exec(line);
    if (found && found[1]!.length <= indent.length) items.push([found[3]!]);
    else items.at(-1)?.push(line.replace(/^ {1,3}/, ""));
  }
  return { kind: "list", ordered: number !== undefined, items };
}

type Inline = (text: string) => Value;

function rendered(block: Block, inline: Inline, slug: (text: string) => string): Markup {
  switch (block.kind) {
    case "heading":
      return headingOf(block.depth, slug(block.text), inline(block.text));
    case "paragraph":
      return html`<p>${inline(block.text)}</p>\n`;
    case "code":
      return html`<pre><code>${block.text}</code></pre>\n`;
    case "table":
      return html`<div class="table"><table><thead><tr>${block.head.map((cell) => html`<th>${inline(cell)}</th>`)}</tr></thead>
<tbody>${block.rows.map((row) => html`<tr>${row.map((cell) => html`<td>${inline(cell)}</td>`)}</tr>\n`)}</tbody></table></div>\n`;
    case "list": {
      const items = block.items.map((lines) => html`<li>${itemOf(lines, inline, slug)}</li>\n`);
      return block.ordered ? html`<ol>${items}</ol>\n` : html`<ul>${items}</ul>\n`;
    }
    default:
      return block satisfies never;
  }
}

const headingOf = (depth: number, id: string, text: Value): Markup => {
  const [open, close] = [new Markup(`<h${depth}`), new Markup(`</h${depth}>\n`)];
  return html`${open} id="${id}">${text}${close}`;
};

/** Its first paragraph has no frame of its own, as in any list. */
function itemOf(lines: readonly string[], inline: Inline, slug: (text: string) => string): Value {
  const end = lines.findIndex((line, index) => index > 0 && (item.test(line) || opensBlock.test(line)));
  const first = lines.slice(0, end < 0 ? undefined : end);
  const rest = end < 0 ? [] : blocksOf(lines.slice(end));
  return [inline(joined(first)), ...rest.map((block) => rendered(block, inline, slug))];
}

const spans = /(`+)(.+?)\1(?!`)|\*\*(.+?)\*\*|\*([^*\s][^*]*)\*|\[([^\]]+)\]\(([^()\s]*)\)|<(https?:\/\/[^\s<>]+)>/g;

function inlineOf(text: string, linkTo: (target: string) => string): Value {
  const parts: Value[] = [];
  let at = 0;
  for (const match of text.matchAll(spans)) {
    const [whole, , code, strong, emphasis, label, target, address] = match;
    parts.push(text.slice(at, match.index));
    at = match.index + whole.length;
    if (code !== undefined) parts.push(html`<code>${code}</code>`);
    else if (strong !== undefined) parts.push(html`<strong>${inlineOf(strong, linkTo)}</strong>`);
    else if (emphasis !== undefined) parts.push(html`<em>${inlineOf(emphasis, linkTo)}</em>`);
    else parts.push(link(inlineOf(label ?? address ?? "", linkTo), linkTo(target ?? address ?? "")));
  }
  return [...parts, text.slice(at)];
}

const link = (label: Value, target: string): Value =>
  /^(https?:\/\/|\/(?!\/)|#)/.test(target) ? html`<a href="${target}">${label}</a>` : label;

/** Of a heading's text, as GitHub makes it: a second one of the same name gets a number. */
function slugger(): (text: string) => string {
  const seen = new Map<string, number>();
  return (text) => {
    const name = plain(text)
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-");
    const count = seen.get(name) ?? 0;
    seen.set(name, count + 1);
    return count === 0 ? name : `${name}-${count}`;
  };
}

/** Without the signs of Markdown. */
const plain = (text: string): string => text.replace(/\[([^\]]+)\]\([^)]*\)/g, "$1").replace(/[`*]/g, "");
