/** The content kind of an S/MIME file (RFC 5652). `content`: the signed content, if it is inside. */
export type Enveloped = { kind: "signed"; content: Buffer | undefined } | { kind: "encrypted" | "unknown" };

const octetString = 0x04;
const objectIdentifier = 0x06;
const constructed = 0x20;
/** Maximum nesting, and maximum number of values, that are read. */
const maxDepth = 16;
const maxPieces = 100_000;

/** Object identifiers in their encoded form. */
const kinds: Record<string, "signed" | "encrypted"> = {
  "2a864886f70d010702": "signed",
  "2a864886f70d010703": "encrypted",
  "2a864886f70d0109100117": "encrypted",
};

/** A BER value. `end`: end of its content; if its length is indefinite, the end of all bytes. */
type BerValue = { tag: number; start: number; end: number; isOpenEnded: boolean };

/** Reads an S/MIME file without checking signatures. Any defect makes it `unknown`. */
export function readEnveloped(bytes: Buffer): Enveloped {
  const info = valueAt(bytes, 0, bytes.length);
  const [type, wrapped] = info ? valuesIn(bytes, info, 2) : [];
  const kind = type?.tag === objectIdentifier ? kinds[bytes.toString("hex", type.start, type.end)] : undefined;
  if (kind !== "signed" || !wrapped) return { kind: kind === "encrypted" ? kind : "unknown" };
  const [data] = valuesIn(bytes, wrapped, 1);
  // The three values: version, hash functions, content.
  const [, , inside] = data ? valuesIn(bytes, data, 3) : [];
  const [, explicit] = inside ? valuesIn(bytes, inside, 2) : [];
  const [content] = explicit ? valuesIn(bytes, explicit, 1) : [];
  if (!content) return { kind, content: undefined };
  const pieces: Buffer[] = [];
  collect(bytes, content, { pieces, depth: 0 });
  return { kind, content: Buffer.concat(pieces) };
}

function valueAt(bytes: Buffer, at: number, limit: number): BerValue | undefined {
  if (at + 2 > limit) return undefined;
  const tag = bytes[at]!;
  const first = bytes[at + 1]!;
  if (first < 0x80) return bounded({ tag, start: at + 2, length: first, limit });
  const size = first & 0x7f;
  if (size === 0) return { tag, start: at + 2, end: limit, isOpenEnded: true };
  if (size > 5 || at + 2 + size > limit) return undefined;
  return bounded({ tag, start: at + 2 + size, length: bytes.readUIntBE(at + 2, size), limit });
}

const bounded = ({
  tag,
  start,
  length,
  limit,
}: {
  tag: number;
  start: number;
  length: number;
  limit: number;
}): BerValue => ({
  tag,
  start,
  end: Math.min(limit, start + length),
  isOpenEnded: false,
});

/** Returns the first values inside another one, at most this many. */
function valuesIn(bytes: Buffer, around: BerValue, most: number): BerValue[] {
  const found: BerValue[] = [];
  let at = around.start;
  while (found.length < most) {
    const value = valueAt(bytes, at, around.end);
    if (!value || value.tag === 0) break;
    found.push(value);
    const next = endOf(bytes, value, 0);
    if (next === undefined) break;
    at = next;
  }
  return found;
}

/** Returns the beginning of the next value. A value of indefinite length ends at an empty value; nested values are skipped. */
function endOf(bytes: Buffer, value: BerValue, depth: number): number | undefined {
  if (!value.isOpenEnded) return value.end;
  if (depth > maxDepth) return undefined;
  let at = value.start;
  for (;;) {
    const inner = valueAt(bytes, at, value.end);
    if (!inner) return undefined;
    if (inner.tag === 0) return at + 2;
    const next = endOf(bytes, inner, depth + 1);
    if (next === undefined) return undefined;
    at = next;
  }
}

/** Collects a byte string, which may be in pieces. */
function collect(bytes: Buffer, value: BerValue, { pieces, depth }: { pieces: Buffer[]; depth: number }): void {
  if ((value.tag & constructed) === 0) {
    if (value.tag === octetString) pieces.push(bytes.subarray(value.start, value.end));
    return;
  }
  if (depth > maxDepth) return;
  for (const inner of valuesIn(bytes, value, maxPieces)) collect(bytes, inner, { pieces, depth: depth + 1 });
}
