import { maxHeaderBytes } from "./headerFields.ts";

/** The part of a mail that a parser is given. The stored mail is not changed. */
export type CappedMail = {
  /** A separate copy that nothing else refers to. */
  bytes: Uint8Array<ArrayBuffer>;
  /** Sentence about what was left out that people might miss; null if nothing was. */
  cut: string | null;
};

/** Maximum number of lines: lines cost a parser more than bytes do. A mail of 30 MB with encoded attachments has about 400,000. */
const maxLines = 500_000;
const shortLineBytes = 60;
const maxShortLines = 100_000;
/**
 * Maximum number of lines that may begin a part (they begin with two hyphens). A mail with more than 100 attachments is rejected anyway,
 * but text may contain rules of hyphens.
 */
const maxHyphenLines = 5_000;
/** Maximum number of bytes of the header fields that say how the body is to be read. */
const maxHeadBytes = 64 * 1024;

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const hyphen = 0x2d;
const deciding = /^(?:content-[a-z-]{2,40}|mime-version)[ \t]*:/i;

/**
 * Cuts the mail to what a parser of bodies needs: of the header only the fields that say how the body is to be read (headers.ts reads the
 * others); of the body as many lines as a parser can take.
 */
export function cappedForParser(raw: Buffer): CappedMail {
  const head = readHead(raw);
  if (head === undefined) throw new Error("its header is longer than 2 MB");
  const { end, cut } = cutBody(raw, head.bodyAt);
  const bytes = new Uint8Array(head.fields.length + 2 + end - head.bodyAt);
  bytes.set(head.fields);
  bytes.set([carriageReturn, lineFeed], head.fields.length);
  bytes.set(raw.subarray(head.bodyAt, end), head.fields.length + 2);
  return { bytes, cut };
}

/** Returns the end of the text of the line at `start`, and the start of the next line. */
function lineAt(raw: Buffer, start: number): { textEnd: number; next: number } {
  const newline = raw.indexOf(lineFeed, start);
  const next = newline < 0 ? raw.length : newline + 1;
  let textEnd = newline < 0 ? raw.length : newline;
  while (textEnd > start && raw[textEnd - 1] === carriageReturn) textEnd -= 1;
  return { textEnd, next };
}

function readHead(raw: Buffer): { fields: Buffer; bodyAt: number } | undefined {
  const fields: Buffer[] = [];
  let bytes = 0;
  let isKept = false;
  let at = 0;
  while (at < raw.length) {
    if (at > maxHeaderBytes) return undefined;
    const { textEnd, next } = lineAt(raw, at);
    if (textEnd === at) return { fields: Buffer.concat(fields), bodyAt: next };
    const isFolded = raw[at] === 0x20 || raw[at] === 0x09;
    if (!isFolded) isKept = deciding.test(raw.toString("latin1", at, Math.min(textEnd, at + 80)));
    if (isKept && bytes + next - at <= maxHeadBytes) {
      bytes += next - at;
      fields.push(raw.subarray(at, next));
    }
    at = next;
  }
  return { fields: Buffer.concat(fields), bodyAt: raw.length };
}

/** Returns where the body is cut if it has more lines than a parser can take. */
function cutBody(raw: Buffer, bodyAt: number): { end: number; cut: string | null } {
  let [lines, short, hyphens] = [0, 0, 0];
  let at = bodyAt;
  while (at < raw.length) {
    const { textEnd, next } = lineAt(raw, at);
    lines += 1;
    if (textEnd - at < shortLineBytes) short += 1;
    if (raw[at] === hyphen && raw[at + 1] === hyphen) hyphens += 1;
    if (lines > maxLines || short > maxShortLines || hyphens > maxHyphenLines) {
      return { end: at, cut: `only its first ${lines - 1} lines were read` };
    }
    at = next;
  }
  return { end: raw.length, cut: null };
}
