import { isSameName, writerIn } from "./writers.ts";

/** Maximum number of characters of a line that introduces a quotation. */
const maxLength = 300;
/** Line length above which a mail program breaks lines. */
const usualWidth = 70;

const address = /[^\s<>()[\]"',;:@]{1,64}@[^\s<>()[\]"',;:@]{1,253}/u;
const time = /\p{Nd}{1,2}\s?[:：.h時时点]\s?\p{Nd}{2}/u;
const digits = /\p{Nd}+/gu;
const year = /(?<!\p{Nd})\p{Nd}{4}(?!\p{Nd})/u;
/** Matches the end of a sentence within a line, but not an abbreviation. */
const sentenceEnd = /[!?。！？]\s*\p{L}|(?<!\p{L})(?:\p{Ll}{2,}|\p{Lu}\p{Ll}{4,})\.\s+\p{Lu}/u;

/** Returns the addresses in a line, in lower case. */
export const addressesIn = (line: string): string[] =>
  (line.slice(0, maxLength).toLowerCase().match(new RegExp(address, "gu")) ?? []).map(String);

export const namesAddress = (line: string): boolean => address.test(line.slice(0, maxLength));

/** True for a line with a date and a time: in figures, so in any language. */
export function namesTime(line: string): boolean {
  const text = line.slice(0, maxLength);
  return time.test(text) && (text.match(digits)?.length ?? 0) >= 4;
}

/** True for a line with a date, perhaps with a time. */
export function namesDate(line: string): boolean {
  const count = line.match(digits)?.length ?? 0;
  return (year.test(line) && count >= 2) || (time.test(line) && count >= 3);
}

/**
 * True if these lines, the last of which is right above a quotation, end with an attribution ("On … Jane wrote:"): it ends in a colon and
 * names an address or a date.
 */
export const isAttribution = (above: readonly string[]): boolean => linesOfAttribution(above) > 0;

/**
 * Returns how many of the last lines are an attribution: 0 to 3. A line above belongs to it only if it was broken for length, begins a
 * paragraph, and names what is missing below; any other line is the writer's own text. `writer`: the name of the quoted mail's writer, if
 * it is known; a line with that name alone is one too.
 */
export function linesOfAttribution(above: readonly string[], writer?: string): number {
  const last = above.at(-1) ?? "";
  const name = writer === undefined ? undefined : writerIn(last);
  if (name !== undefined && isSameName(name, writer!)) return 1;
  if (last.length > maxLength || !/[:：][\s\p{Cf}]*$/u.test(last)) return 0;
  for (let count = 1; count <= 3 && count <= above.length; count += 1) {
    const part = above.slice(above.length - count);
    if (part[0]!.trim() === "" || part[0]!.length > maxLength) break;
    if (count > 1 && !isBroken(part[0]!, part[1]!)) break;
    const before = above[above.length - count - 1] ?? "";
    const isParagraph = before.trim() === "";
    // Skip a line that continues the sentence above.
    if (/^\s*\p{Ll}/u.test(part[0]!) && !/[\p{P}\s]$|^$/u.test(before)) continue;
    const text = part.join(" ");
    if (sentenceEnd.test(text)) break;
    const isWhole = namesAddress(text) && namesDate(text);
    if (isWhole && (count === 1 || isParagraph)) return count;
    if (isParagraph && (namesAddress(text) || namesDate(text))) return count;
  }
  const isAlone = /^\s*[^\p{Ll}\s]/u.test(last) && !sentenceEnd.test(last) && (namesAddress(last) || namesDate(last));
  return isAlone && !isBroken(above.at(-2) ?? "", last) ? 1 : 0;
}

/** True if the first word of the next line did not fit on this one, or is in brackets that begin on this one. */
export function isBroken(line: string, next: string): boolean {
  const [word = ""] = next.trim().split(/\s/, 1);
  return /[<([]\s*$/.test(line) || line.trimEnd().length + 1 + word.length > usualWidth;
}
