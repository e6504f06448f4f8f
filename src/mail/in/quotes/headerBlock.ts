import { addressesIn, isBroken, namesAddress, namesTime } from "./attribution.ts";
import { type ForwardLine, forwardLineOf } from "./forwardLines.ts";

/** A label of one to three words in any language, perhaps in the asterisks of bold type, and a colon. */
const label = String.raw`^[\s\p{Cf}]*\*{0,2}[\p{L}\p{M}.'’-]{1,30}(?: [\p{L}\p{M}.'’-]{1,30}){0,2}\*{0,2}[\s\p{Cf}]?[:：]\*{0,2}\s*`;
const labelled = new RegExp(`${label}(?=[^\\s*])`, "u");
/** Matches a label without a value, or a field of a raw header. */
const otherField = new RegExp(`${label}$|^\\s{0,20}[!-9;-~]{1,80}:(?:\\s|$)`, "u");
const maxLength = 1_000;
const fewestLines = 3;
const mostLines = 12;
/** Some programs forward a mail with its whole header. */
const mostLinesOfHeader = 300;

/** Most lines have no colon, which is quicker to see than a label. */
const hasColon = (beginning: string): boolean => beginning.includes(":") || beginning.includes("：");
const isLabelled = (line: string): boolean => {
  const beginning = line.slice(0, 120);
  return hasColon(beginning) && labelled.test(beginning);
};
const isAnyField = (line: string): boolean => {
  const beginning = line.slice(0, 120);
  return hasColon(beginning) && (labelled.test(beginning) || otherField.test(beginning));
};

/** Matches an address after a name, as mail programs write a sender. A form has a bare address. */
const bracketed = /[<[(＜]\s?(?:mailto:)?[^\s<>@]{1,64}@/i;

/**
 * Returns the end of the header block that a mail program has put above an earlier mail and that begins at this line; undefined if there
 * is none. It has three fields, one with an address and one with a date and a time, and ends at a blank line or a rule. Below a line that
 * says that an earlier mail follows, the sender may be anywhere; so it may below any other rule, if a name is before its address. With no
 * line above, the first field has the sender, with a name or with a second address in the block. Other lines that look like fields (a
 * trip from Berlin to Paris, a form) lack some of these.
 */
export function endOfHeaderBlock(lines: readonly string[], start: number): number | undefined {
  const isFirst = beginsWithSender(lines, start);
  if (!isFirst && !isAnyField(lines[start] ?? "")) return undefined;
  const above = forwardLineAbove(lines, start);
  if (above === undefined && !isFirst) return undefined;
  const isField = above === undefined ? isLabelled : isAnyField;
  const most = above === undefined ? mostLines : mostLinesOfHeader;
  let end = start + 1;
  let fields = 1;
  while (end < lines.length && end - start < most && !isEnd(lines[end] as string)) {
    const line = (lines[end] as string).slice(0, maxLength);
    if (isField(line)) fields += 1;
    else if (!isMoreOfField(line, lines[end - 1] as string)) break;
    end += 1;
  }
  const isEnded = end === lines.length || isEnd(lines[end] as string);
  const block = lines.slice(start, end).map((line) => line.slice(0, maxLength));
  const isOfMail = isFirst
    ? above !== undefined || bracketed.test(block.slice(0, 2).join(" ")) || new Set(block.flatMap(addressesIn)).size > 1
    : block.some((line) => (above === "earlier" ? namesAddress(line) : bracketed.test(line)));
  return isEnded && fields >= fewestLines && isOfMail && block.some((line) => isField(line) && namesTime(line))
    ? end
    : undefined;
}

const isEnd = (line: string): boolean => line.trim() === "" || forwardLineOf(line) !== undefined;

/** True for a first field with an address, which may be on the next line if it did not fit. */
function beginsWithSender(lines: readonly string[], start: number): boolean {
  const [line = "", next = ""] = lines.slice(start, start + 2);
  return isLabelled(line) && (namesAddress(line) || (!isLabelled(next) && isBroken(line, next) && namesAddress(next)));
}

/** True for a continuation: a list of recipients, or any field that did not fit on its line. */
const isMoreOfField = (line: string, above: string): boolean =>
  /^[ \t]/.test(line) || namesAddress(line) || isBroken(above, line);

/**
 * Returns the first line of what a mail program put above a block: a line of hyphens or underscores, perhaps with words between, or a line
 * about what was forwarded; otherwise the block's own first line.
 */
export function startWithRule(lines: readonly string[], block: number): number {
  for (let at = block - 1; at >= Math.max(0, block - 2); at -= 1) {
    if (forwardLineOf(lines[at] as string) !== undefined) return at;
    if ((lines[at] as string).trim() !== "") break;
  }
  return block;
}

/** Returns what the line above a block says; undefined if no such line is there. The end of another mail says nothing about this one. */
function forwardLineAbove(lines: readonly string[], block: number): ForwardLine | undefined {
  const at = startWithRule(lines, block);
  const said = at < block ? forwardLineOf(lines[at] as string) : undefined;
  return said === "end" ? undefined : said;
}

/**
 * Returns the line after a forwarded mail's end, if the program that forwarded it has marked the end; otherwise undefined. A line counts
 * only if it begins with as many hyphens as the line above or below the mail's header block: other programs' lines are inside the mail.
 */
export function endOfForwarded(
  lines: readonly string[],
  { start, end }: { start: number; end: number },
): number | undefined {
  const mark = markOf(lines[start] ?? "") || markOf(lines.find((line, at) => at >= end && line.trim() !== "") ?? "");
  if (mark === "") return undefined;
  const last = lines.findLastIndex((line, at) => at > start && markOf(line) === mark && forwardLineOf(line) === "end");
  return last < 0 ? undefined : last + 1;
}

const markOf = (line: string): string => /^\s*([-_=*]{3,})/.exec(line)?.[1] ?? "";
