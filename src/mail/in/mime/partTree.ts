import { type HeaderFields, readHeaderFields } from "../headerFields.ts";
import { type Parameterised, readParameters } from "./parameters.ts";

/** A part of a mail, or the mail itself. */
export type Part = {
  contentType: Parameterised;
  disposition: Parameterised;
  /** Raw header and body; for a multipart, the rest of the mail from its header on. */
  source: Buffer;
  /** Offset of the body in `source`. */
  bodyAt: number;
  /** The parts of a multipart, in order. */
  parts: Part[];
  /** Enclosing parts, the nearest last. */
  around: readonly Part[];
};

/** Maximum nesting of parts, and maximum number of parts; a mail with more is refused. */
const maxDepth = 100;
const maxParts = 5_000;

const names = new Set(["content-type", "content-disposition"]);
const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const hyphen = 0x2d;

/** A part whose end has not been found yet. */
type OpenPart = { part: Part; start: number; delimiter: Buffer | undefined };

/**
 * Splits a mail into its parts at the lines that begin with the boundary of an open multipart. Text before a multipart's first part and
 * after its last belongs to no part. Throws if the mail has too many parts, or too deep ones.
 */
export function readParts(mail: Buffer): Part {
  const open: OpenPart[] = [];
  let count = 0;

  function begin(start: number): void {
    if (open.length > maxDepth) throw new Error(`its parts are nested more than ${maxDepth} deep`);
    count += 1;
    if (count > maxParts) throw new Error(`it has more than ${maxParts} parts`);
    const around = open.map(({ part }) => part);
    // A line with two hyphens is not a field: without this bound, each of a thousand unended headers would be read to the end of the
    // mail.
    const part = partAt({
      source: mail.subarray(start),
      header: mail.subarray(start, nextHyphens(mail, start)),
      around,
    });
    around.at(-1)?.parts.push(part);
    const boundary = part.contentType.value.startsWith("multipart/") && part.contentType.parameters.get("boundary");
    open.push({ part, start, delimiter: boundary ? Buffer.from(`--${boundary}`, "latin1") : undefined });
  }

  /** Ends the innermost parts until `left` are open. */
  function endUntil(left: number, at: number): void {
    for (const { part, start } of open.splice(left)) {
      if (part.parts.length > 0) continue;
      part.source = mail.subarray(start, Math.max(start, withoutLineEnd(mail, at)));
      part.bodyAt = Math.min(part.bodyAt, part.source.length);
    }
  }

  begin(0);
  const [root] = open as [OpenPart];
  for (let at = nextHyphens(mail, 0); at < mail.length; at = nextHyphens(mail, endOfLine(mail, at))) {
    const line = mail.subarray(at, endOfLine(mail, at));
    const found = open.findLastIndex(({ delimiter }) => delimiter !== undefined && isDelimiter(line, delimiter));
    if (found < 0) continue;
    endUntil(found + 1, at);
    if (isLast(line, open[found]!.delimiter!)) endUntil(found, at);
    else begin(at + line.length);
  }
  endUntil(0, mail.length);
  return root.part;
}

function partAt({ source, header, around }: { source: Buffer; header: Buffer; around: readonly Part[] }): Part {
  const fields = readHeaderFields(header, names);
  const contentType = typeOf(fields, around.at(-1));
  const disposition = readParameters(fields.first("content-disposition"));
  return { contentType, disposition, source, bodyAt: header.length - fields.body.length, parts: [], around };
}

function typeOf(fields: HeaderFields, parent: Part | undefined): Parameterised {
  const given = readParameters(fields.first("content-type"));
  // A value without a slash is not a type: the part then has the default type (RFC 2045, 5.2).
  if (given.value.includes("/")) return given;
  const value = parent?.contentType.value === "multipart/digest" ? "message/rfc822" : "text/plain";
  return { ...given, value };
}

/** Finds the next line that begins with two hyphens; the end of the mail if there is none. */
function nextHyphens(mail: Buffer, from: number): number {
  if (mail[from] === hyphen && mail[from + 1] === hyphen) return from;
  const found = mail.indexOf("\n--", Math.max(0, from - 1));
  return found < 0 ? mail.length : found + 1;
}

function endOfLine(mail: Buffer, start: number): number {
  const end = mail.indexOf(lineFeed, start);
  return end < 0 ? mail.length : end + 1;
}

/** Excludes the line end before a delimiter, which belongs to the delimiter. */
function withoutLineEnd(mail: Buffer, at: number): number {
  if (at === mail.length || mail[at - 1] !== lineFeed) return at;
  return mail[at - 2] === carriageReturn ? at - 2 : at - 1;
}

const isBlank = (rest: Buffer): boolean => /^[ \t\r\n]*$/.test(rest.toString("latin1"));

function isDelimiter(line: Buffer, delimiter: Buffer): boolean {
  if (!line.subarray(0, delimiter.length).equals(delimiter)) return false;
  const rest = line.subarray(delimiter.length);
  return isBlank(rest) || isLast(line, delimiter);
}

function isLast(line: Buffer, delimiter: Buffer): boolean {
  const rest = line.subarray(delimiter.length);
  return rest[0] === hyphen && rest[1] === hyphen && isBlank(rest.subarray(2));
}
