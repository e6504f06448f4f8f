import { isBroken, namesAddress, namesTime } from "./attribution.ts";

/** Matches a label of one to three words in any language, perhaps in the asterisks of bold type, a colon, and a value. */
const labelled =
  /^[\s\p{Cf}]*\*{0,2}[\p{L}\p{M}.'’-]{1,30}(?: [\p{L}\p{M}.'’-]{1,30}){0,2}\*{0,2}[\s\p{Cf}]?[:：]\*{0,2}\s*(?=[^\s*])/u;
/** Matches "-----Original Message-----" or a similar line above a block, of at most six words. */
const rule = /^\s*([-_=*])\1{2,}(?:\s*(?:[^\s\p{P}]+[\s\p{P}]*){1,6}\1{2,}|\1*)\s*$/u;
const maxLength = 1_000;
const fewestLines = 3;
const mostLines = 12;

const isLabelled = (line: string): boolean => labelled.test(line.slice(0, 120));

/** Matches an address after a name, as mail programs write a sender. A form has a bare address. */
const bracketed = /[<[(＜]\s?(?:mailto:)?[^\s<>@]{1,64}@/i;

/**
 * Returns the end of the header block that a mail program has put above an earlier mail and that begins at this line; undefined if there
 * is none. Its first field has an address, another field a date and a time, and a blank line ends it. An address alone counts only below
 * a line of hyphens, or with a second address. Other lines that look like fields (a trip from Berlin to Paris, a form) lack some of
 * these.
 */
export function endOfHeaderBlock(lines: readonly string[], start: number): number | undefined {
  if (!beginsWithSender(lines[start] ?? "", lines[start + 1] ?? "")) return undefined;
  let end = start + 1;
  let fields = 1;
  while (end < lines.length && end - start < mostLines && (lines[end] as string).trim() !== "") {
    const line = (lines[end] as string).slice(0, maxLength);
    if (isLabelled(line)) fields += 1;
    else if (!isMoreOfField(line, lines[end - 1] as string)) break;
    end += 1;
  }
  const block = lines.slice(start + 1, end);
  const isOfMail =
    bracketed.test((lines[start] ?? "").slice(0, maxLength)) ||
    block.some(namesAddress) ||
    startWithRule(lines, start) < start;
  const isEnded = end === lines.length || (lines[end] as string).trim() === "";
  return isOfMail && isEnded && fields >= fewestLines && block.some((line) => isLabelled(line) && namesTime(line))
    ? end
    : undefined;
}

/** True for a first field with an address, which may be on the next line if it did not fit. */
const beginsWithSender = (line: string, next: string): boolean =>
  isLabelled(line) && (namesAddress(line) || (!isLabelled(next) && isBroken(line, next) && namesAddress(next)));

/** True for a continuation: a list of recipients, or any field that did not fit on its line. */
const isMoreOfField = (line: string, above: string): boolean =>
  /^[ \t]/.test(line) || namesAddress(line) || isBroken(above, line);

/**
 * Returns the first line of what a mail program put above a block: a line of hyphens or underscores, perhaps with words between;
 * otherwise the block's own first line.
 */
export function startWithRule(lines: readonly string[], block: number): number {
  for (let at = block - 1; at >= Math.max(0, block - 2); at -= 1) {
    const line = (lines[at] as string).slice(0, 200);
    if (rule.test(line)) return at;
    if (line.trim() !== "") break;
  }
  return block;
}
