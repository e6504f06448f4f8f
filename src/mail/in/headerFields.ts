import { isUtf8 } from "node:buffer";

/** The header of a mail as it came, and where its body begins. Values are unfolded, their encoded words are not decoded. */
export type HeaderFields = {
  /** How often the field occurs. */
  count(name: string): number;
  /** The first occurrence's value, "" if there is none. */
  first(name: string): string;
  /** The values of the first few occurrences, in order. */
  all(name: string): string[];
  body: Buffer;
};

/** Beyond this much header nothing is read. */
export const maxHeaderBytes = 2 * 1024 * 1024;
const maxValueBytes = 64 * 1024;
const maxOccurrences = 10;
const maxNameBytes = 76;

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const colon = 0x3a;

type Span = { start: number; end: number; text?: string };

/** A field that is looked for, and where it was found: the first few times. */
type Wanted = { name: string; count: number; spans: Span[] };

/**
 * Reads the fields of these (lower-case) names from any bytes at all, in the first two megabytes of them; never throws. These take a
 * few milliseconds, however many lines they are: the bytes are looked at once, and only what is asked for becomes text.
 */
export function readHeaderFields(raw: Buffer, names: ReadonlySet<string>): HeaderFields {
  const header = raw.subarray(0, maxHeaderBytes);
  const wanted = new Map([...names].map((name): [string, Wanted] => [name, { name, count: 0, spans: [] }]));
  const byLength = groupedByLength(wanted.values());
  let current: Span | undefined;
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
  const textOf = (span: Span): string => {
    span.text ??= fieldValue(header, span);
    return span.text;
  };
  return {
    count: (name) => wanted.get(name)?.count ?? 0,
    first: (name) => wanted.get(name)?.spans.slice(0, 1).map(textOf)[0] ?? "",
    all: (name) => (wanted.get(name)?.spans ?? []).map(textOf),
    body: raw.subarray(Math.min(at, raw.length)),
  };
}

/** Where the body begins, as `readHeaderFields` finds it; as much work as a search for bytes, however many lines there are. */
export function startOfBody(raw: Buffer): number {
  const header = raw.subarray(0, maxHeaderBytes);
  for (const empty of ["\n", "\r\n"]) if (header.toString("latin1", 0, empty.length) === empty) return empty.length;
  const ends = ["\n\n", "\n\r\n"].map((end) => ({ at: header.indexOf(end), end })).filter(({ at }) => at >= 0);
  const [first] = ends.sort((a, b) => a.at - b.at);
  return first ? first.at + first.end.length : header.length;
}

function groupedByLength(all: Iterable<Wanted>): Wanted[][] {
  const groups: Wanted[][] = Array.from({ length: maxNameBytes }, () => []);
  for (const wanted of all) groups[wanted.name.length]?.push(wanted);
  return groups;
}

/** Lines are short: a search that is called for each costs more than this. */
function endOfLine(bytes: Buffer, start: number): number {
  let at = start;
  while (at < bytes.length && bytes[at] !== lineFeed) at += 1;
  return at;
}

const isEmptyLine = (bytes: Buffer, start: number, end: number): boolean =>
  end === start || (end === start + 1 && bytes[start] === carriageReturn);

const isBlank = (byte: number): boolean => byte === 0x20 || byte === 0x09;
const isOfName = (byte: number): boolean => byte > 0x20 && byte < 0x7f && byte !== colon;

/** The wanted field that begins with this line: its name is visible ASCII, with blanks at most before the colon. */
function fieldAt(
  bytes: Buffer,
  { start, end }: Span,
  byLength: readonly (readonly Wanted[])[],
): { wanted: Wanted; valueStart: number } | undefined {
  const limit = Math.min(end, start + maxNameBytes);
  let at = start;
  while (at < limit && isOfName(bytes[at]!)) at += 1;
  const nameEnd = at;
  while (at < limit && isBlank(bytes[at]!)) at += 1;
  if (at === limit || bytes[at] !== colon) return undefined;
  const wanted = byLength[nameEnd - start]?.find(({ name }) => isNamed(bytes, start, name));
  return wanted && { wanted, valueStart: at + 1 };
}

/** Names are letters, digits and hyphens: of these the case is one bit. */
function isNamed(bytes: Buffer, start: number, name: string): boolean {
  for (let index = 0; index < name.length; index++) {
    if ((bytes[start + index]! | 0x20) !== name.charCodeAt(index)) return false;
  }
  return true;
}

function keep(wanted: Wanted, span: Span): void {
  wanted.count += 1;
  if (wanted.spans.length < maxOccurrences) wanted.spans.push(span);
}

function fieldValue(bytes: Buffer, { start, end }: Span): string {
  const value = bytes.subarray(start, Math.min(end, start + maxValueBytes));
  const line = unfolded(value);
  // Windows' letters among the control characters are put right where text is made storable: so all versions of Node read the same.
  return line.toString(isUtf8(value) ? "utf8" : "latin1").trim();
}

/** Without its line ends. */
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
