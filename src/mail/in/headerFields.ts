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
const fieldName = /^[!-9;-~]+[ \t]*$/;
const windows1252 = new TextDecoder("windows-1252");

type Span = { start: number; end: number };

/** Reads the fields of these (lower-case) names from any bytes at all, in the first `maxBytes` of them; never throws. */
export function readHeaderFields(raw: Buffer, names: ReadonlySet<string>, maxBytes = maxHeaderBytes): HeaderFields {
  const spans = new Map<string, Span[]>();
  const counts = new Map<string, number>();
  const header = raw.subarray(0, maxBytes);
  let current: Span | undefined;
  let at = 0;
  while (at < header.length) {
    const newline = header.indexOf(lineFeed, at);
    const end = newline < 0 ? header.length : newline;
    const next = end + 1;
    if (isEmptyLine(header, at, end)) {
      at = next;
      break;
    }
    if (isFolded(header, at)) {
      if (current) current.end = end;
    } else {
      current = undefined;
      const field = fieldAt(header, at, end);
      if (field && names.has(field.name)) {
        current = { start: field.valueStart, end };
        counts.set(field.name, (counts.get(field.name) ?? 0) + 1);
        keep(spans, field.name, current);
      }
    }
    at = next;
  }
  const all = (name: string): string[] => (spans.get(name) ?? []).map((span) => fieldValue(header, span));
  return {
    count: (name) => counts.get(name) ?? 0,
    first: (name) => all(name)[0] ?? "",
    all,
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

const isEmptyLine = (bytes: Buffer, start: number, end: number): boolean =>
  end === start || (end === start + 1 && bytes[start] === carriageReturn);

const isFolded = (bytes: Buffer, at: number): boolean => bytes[at] === 0x20 || bytes[at] === 0x09;

function fieldAt(bytes: Buffer, start: number, end: number): { name: string; valueStart: number } | undefined {
  const separator = bytes.subarray(start, Math.min(end, start + maxNameBytes)).indexOf(colon);
  if (separator < 1) return undefined;
  const name = bytes.toString("latin1", start, start + separator);
  if (!fieldName.test(name)) return undefined;
  return { name: name.trimEnd().toLowerCase(), valueStart: start + separator + 1 };
}

function keep(spans: Map<string, Span[]>, name: string, span: Span): void {
  const kept = spans.get(name);
  if (!kept) spans.set(name, [span]);
  else if (kept.length < maxOccurrences) kept.push(span);
}

function fieldValue(bytes: Buffer, { start, end }: Span): string {
  const value = bytes.subarray(start, Math.min(end, start + maxValueBytes));
  const text = isUtf8(value) ? value.toString() : windows1252.decode(value);
  return text.replace(/\r?\n/g, "").trim();
}
