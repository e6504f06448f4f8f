import { isUtf8 } from "node:buffer";

/** Raw header fields of a mail, and the offset of its body. Values are unfolded; encoded words are not decoded. */
export type HeaderFields = {
  /** Number of occurrences of the field. */
  count(name: string): number;
  /** Value of the first occurrence; "" if there is none. */
  first(name: string): string;
  /** Values of the first few occurrences, in order. */
  all(name: string): string[];
  /** As `all`, of those occurrences only that are above every field with one of these names. */
  above(name: string, others: readonly string[]): string[];
  body: Buffer;
};

/** Maximum number of header bytes that are read. */
export const maxHeaderBytes = 2 * 1024 * 1024;
const maxValueBytes = 64 * 1024;
const maxOccurrences = 10;
const maxNameBytes = 76;

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const colon = 0x3a;

type ByteSpan = { start: number; end: number; text?: string };

/** A requested field and the places of its first few occurrences. */
type WantedField = { name: string; count: number; spans: ByteSpan[] };

/**
 * Reads the fields with these (lower-case) names from any bytes, within the first two megabytes; never throws. Takes a few milliseconds
 * for any number of lines: the bytes are scanned once, and only the requested fields become text.
 */
export function readHeaderFields(raw: Buffer, names: ReadonlySet<string>): HeaderFields {
  const header = raw.subarray(0, maxHeaderBytes);
  const wanted = new Map([...names].map((name): [string, WantedField] => [name, { name, count: 0, spans: [] }]));
  const byLength = groupedByLength(wanted.values());
  let current: ByteSpan | undefined;
  let at = 0;
  while (at < header.length) {
    const end = endOfLine(header, at);
    const next = end + 1;
    if (isEmptyLine(header, at, end)) {
      at = next;
      break;
    }
    if (isBlank(header[at]!)) {
      if (current) current.end = end;
    } else {
      const field = fieldAt(header, { start: at, end }, byLength);
      current = field && { start: field.valueStart, end };
      if (field && current) keep(field.wanted, current);
    }
    at = next;
  }
  const textOf = (span: ByteSpan): string => {
    span.text ??= fieldValue(header, span);
    return span.text;
  };
  return {
    count: (name) => wanted.get(name)?.count ?? 0,
    first: (name) => wanted.get(name)?.spans.slice(0, 1).map(textOf)[0] ?? "",
    all: (name) => (wanted.get(name)?.spans ?? []).map(textOf),
    above(name, others) {
      const limit = Math.min(...others.map((other) => wanted.get(other)?.spans[0]?.start ?? raw.length));
      return (wanted.get(name)?.spans ?? []).filter(({ start }) => start < limit).map(textOf);
    },
    body: raw.subarray(Math.min(at, raw.length)),
  };
}

/** Returns the offset of the body, the same as `readHeaderFields` does, by one byte search whatever the number of lines. */
export function startOfBody(raw: Buffer): number {
  const header = raw.subarray(0, maxHeaderBytes);
  for (const empty of ["\n", "\r\n"]) if (header.toString("latin1", 0, empty.length) === empty) return empty.length;
  const ends = ["\n\n", "\n\r\n"].map((end) => ({ at: header.indexOf(end), end })).filter(({ at }) => at >= 0);
  const [first] = ends.sort((a, b) => a.at - b.at);
  return first ? first.at + first.end.length : header.length;
}

function groupedByLength(all: Iterable<WantedField>): WantedField[][] {
  const groups: WantedField[][] = Array.from({ length: maxNameBytes }, () => []);
  for (const wanted of all) groups[wanted.name.length]?.push(wanted);
  return groups;
}

/** Finds the end of a line by a plain loop: lines are short, and calling a search function for each costs more. */
function endOfLine(bytes: Buffer, start: number): number {
  let at = start;
  while (at < bytes.length && bytes[at] !== lineFeed) at += 1;
  return at;
}

const isEmptyLine = (bytes: Buffer, start: number, end: number): boolean =>
  end === start || (end === start + 1 && bytes[start] === carriageReturn);

const isBlank = (byte: number): boolean => byte === 0x20 || byte === 0x09;
const isOfName = (byte: number): boolean => byte > 0x20 && byte < 0x7f && byte !== colon;

/** Returns the wanted field that begins with this line: its name is visible ASCII, with at most blanks before the colon. */
function fieldAt(
  bytes: Buffer,
  { start, end }: ByteSpan,
  byLength: readonly (readonly WantedField[])[],
): { wanted: WantedField; valueStart: number } | undefined {
  const limit = Math.min(end, start + maxNameBytes);
  let at = start;
  while (at < limit && isOfName(bytes[at]!)) at += 1;
  const nameEnd = at;
  while (at < limit && isBlank(bytes[at]!)) at += 1;
  if (at === limit || bytes[at] !== colon) return undefined;
  const wanted = byLength[nameEnd - start]?.find(({ name }) => isNamed(bytes, start, name));
  return wanted && { wanted, valueStart: at + 1 };
}

/** Compares the name ignoring case, which is one bit of each letter; names consist of letters, digits and hyphens. */
function isNamed(bytes: Buffer, start: number, name: string): boolean {
  for (let index = 0; index < name.length; index++) {
    if ((bytes[start + index]! | 0x20) !== name.charCodeAt(index)) return false;
  }
  return true;
}

function keep(wanted: WantedField, span: ByteSpan): void {
  wanted.count += 1;
  if (wanted.spans.length < maxOccurrences) wanted.spans.push(span);
}

function fieldValue(bytes: Buffer, { start, end }: ByteSpan): string {
  const value = bytes.subarray(start, Math.min(end, start + maxValueBytes));
  const line = unfolded(value);
  // Windows characters in the C1 range are corrected where text is made storable, so all versions of Node read the same.
  return line.toString(isUtf8(value) ? "utf8" : "latin1").trim();
}

/** Removes line ends. */
function unfolded(value: Buffer): Buffer {
  if (!value.includes(lineFeed)) return value;
  const line = Buffer.allocUnsafe(value.length);
  let length = 0;
  for (let at = 0; at < value.length; at++) {
    const byte = value[at]!;
    const isLineEnd = byte === lineFeed || (byte === carriageReturn && value[at + 1] === lineFeed);
    if (!isLineEnd) line[length++] = byte;
  }
  return line.subarray(0, length);
}
