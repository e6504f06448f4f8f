import { linesOfAttribution, namesAddress, namesDate } from "./attribution.ts";
import { forwardLineOf } from "./forwardLines.ts";
import { endOfForwarded, endOfHeaderBlock, startWithRule } from "./headerBlock.ts";
import { startOfSignature } from "./signature.ts";

/** `header`, `attribution`: lines that a mail program puts above a quoted mail. */
export type PartKind = "own" | "quoted" | "attribution" | "header" | "signature";

/** Consecutive lines of a mail that are of one kind. */
export type TextPart = { kind: PartKind; lines: string[] };

/**
 * Separates a writer's own text from quotations, by marks of mail programs only, never by wording. Unmarked text is the writer's own.
 * Linear in the length of the text. `writer`: the name of the writer of the mail that this one answers, if it is known.
 */
export function partsOf(text: string, writer?: string): TextPart[] {
  const lines = text.split(/\r?\n/);
  const kinds = lines.map((line): PartKind => (hasMark(line) ? "quoted" : "own"));
  unmarkEscaped(lines, kinds);
  joinQuotations(lines, kinds);
  markHeaderBlock(lines, kinds);
  markSpacedQuotation(lines, kinds);
  markAttributions(lines, kinds, writer);
  markSignature(lines, kinds);
  return grouped(lines, kinds);
}

const isBlank = (line: string | undefined): boolean => line === undefined || line.trim() === "";
const hasMark = (line: string): boolean => /^[ \t]{0,3}>/.test(line);

/** Mail stores write ">From" for a line that begins with "From": a single one is not a quotation. */
function unmarkEscaped(lines: readonly string[], kinds: PartKind[]): void {
  for (const [at, line] of lines.entries()) {
    if (line.startsWith(">From ") && kinds[at - 1] !== "quoted" && !hasMark(lines[at + 1] ?? "")) kinds[at] = "own";
  }
}

/** Blank lines between two quoted lines belong to the quotation. */
function joinQuotations(lines: readonly string[], kinds: PartKind[]): void {
  let last = -1;
  for (const [at, kind] of kinds.entries()) {
    if (kind === "quoted") {
      if (last >= 0) kinds.fill("quoted", last, at);
      last = at;
    } else if (!isBlank(lines[at])) last = -1;
  }
}

/**
 * The first header block below own text begins an earlier mail, which extends to the end, or to the line with which a program ends a
 * forwarded mail. If marked lines follow, only these are quoted: the writer may have answered between or below them.
 */
function markHeaderBlock(lines: readonly string[], kinds: PartKind[]): void {
  const firstOwn = lines.findIndex((line, at) => kinds[at] === "own" && !isBlank(line));
  const lastMark = kinds.lastIndexOf("quoted");
  for (let at = firstOwn; at >= 0 && at < lines.length; at += 1) {
    if (kinds[at] !== "own") continue;
    const end = endOfHeaderBlock(lines, at);
    if (end === undefined) continue;
    const start = startWithRule(lines, at);
    const below = endOfForwarded(lines, { start, end });
    const isBelow = below !== undefined && lines.some((line, n) => n >= below && kinds[n] === "own" && !isBlank(line));
    if (start <= firstOwn && !isBelow) return;
    kinds.fill("header", start, end);
    if (below !== undefined || lastMark < end) kinds.fill("quoted", end, below);
    return;
  }
}

/** Matches the line above an earlier mail as Yahoo writes it: blanks before it, and blanks or the mail's first words after its colon. */
const spaced = /^[ \u00a0]{2,}(\S.{0,298}?[:：])(?:[ \u00a0]{2,}|$)/u;

/** Yahoo marks no line of the earlier mail, which extends to the end. Without blanks after the colon each of its lines begins with one. */
function markSpacedQuotation(lines: readonly string[], kinds: PartKind[]): void {
  const firstOwn = lines.findIndex((line, at) => kinds[at] === "own" && !isBlank(line));
  const lastWithoutBlank = lines.findLastIndex((line) => /^\S/.test(line));
  for (let at = firstOwn + 1; at > 0 && at < lines.length; at += 1) {
    const line = lines[at] as string;
    const [all = "", words = ""] = kinds[at] === "own" ? (spaced.exec(line) ?? []) : [];
    if (words === "" || !namesAddress(words) || !namesDate(words)) continue;
    if (!/\s$/.test(all) && at < lastWithoutBlank) continue;
    kinds.fill("attribution", at, at + 1);
    kinds.fill("quoted", at + 1);
    return;
  }
}

/** Checks the lines right above each quotation; one blank line may be between. */
function markAttributions(lines: readonly string[], kinds: PartKind[], writer: string | undefined): void {
  for (let at = 1; at < lines.length; at += 1) {
    if (kinds[at] !== "quoted" || kinds[at - 1] === "quoted") continue;
    let end = at;
    while (end > 0 && at - end < 2 && kinds[end - 1] === "own" && isBlank(lines[end - 1])) end -= 1;
    const start = Math.max(0, end - 4);
    const above = lines.slice(start, end).map((line, index) => (kinds[start + index] === "own" ? line : ""));
    const isEarlier = forwardLineOf(above.at(-1) ?? "") === "earlier";
    const count = isEarlier ? 1 : linesOfAttribution(above, writer);
    if (count > 0) kinds.fill("attribution", startWithRule(lines, end - count), end);
  }
}

/** Marks the signature, unless the mail would have no other text. */
function markSignature(lines: readonly string[], kinds: PartKind[]): void {
  const end = kinds.findLastIndex((kind, at) => kind === "own" && !isBlank(lines[at])) + 1;
  const start = startOfSignature(lines, end);
  const isOwn = (at: number): boolean => kinds[at] === "own";
  if (start === undefined || !lines.some((line, at) => at < start && isOwn(at) && !isBlank(line))) return;
  for (let at = start; at < end; at += 1) if (!isOwn(at)) return;
  kinds.fill("signature", start, end);
}

function grouped(lines: readonly string[], kinds: readonly PartKind[]): TextPart[] {
  const parts: TextPart[] = [];
  for (const [at, line] of lines.entries()) {
    const kind = kinds[at] as PartKind;
    const last = parts.at(-1);
    if (last?.kind === kind) last.lines.push(line);
    else parts.push({ kind, lines: [line] });
  }
  return parts;
}

/** Returns the writer's new text: a mail without its quotations and signature. The whole mail if nothing else remains. */
export function ownWords(text: string, writer?: string): string {
  const own = partsOf(text, writer)
    .filter(({ kind }) => kind === "own")
    .map(({ lines }) => lines.join("\n").trim())
    .filter((part) => part !== "");
  return own.length === 0 ? text.trim() : own.join("\n\n");
}
