/**
 * Rewrites text of East Asian 7-bit charsets, which switch between ASCII and a national table by escapes, to the matching EUC encoding,
 * which has the same numbers with the high bit set: escapes are followed here, and the library decodes the rest. Undefined for a charset
 * without such escapes.
 */
export function unshifted(charset: string, bytes: Buffer): { encoding: string; plain: Buffer } | undefined {
  const shifts = shiftsOf[charset];
  return shifts && { encoding: shifts.encoding, plain: follow(shifts.next, bytes) };
}

/** The characters after an escape: one or two bytes wide, with the bytes that precede each of them in EUC. */
type CharsetTable = { width: 1 | 2; prefix: readonly number[] } | undefined;
/** Returns the escape at this place: its length and the table it selects; undefined if there is none. */
type NextShift = (
  bytes: Buffer,
  at: number,
  current: CharsetTable,
) => { length: number; table: CharsetTable } | undefined;

const twoBytes: CharsetTable = { width: 2, prefix: [] };
const [escapeByte, shiftOut, shiftIn, tilde, newline] = [0x1b, 0x0e, 0x0f, 0x7e, 0x0a];

const japaneseTables: Readonly<Record<string, CharsetTable>> = {
  ...{ $B: twoBytes, "$@": twoBytes, "$(B": twoBytes, "$(@": twoBytes, "$(Q": twoBytes, "$(O": twoBytes },
  "$(D": { width: 2, prefix: [0x8f] },
  "(I": { width: 1, prefix: [0x8e] },
  ...{ "(B": undefined, "(J": undefined, "(H": undefined },
};

const japanese: NextShift = (bytes, at) => {
  if (bytes[at] === shiftOut) return { length: 1, table: japaneseTables["(I"] };
  if (bytes[at] === shiftIn) return { length: 1, table: undefined };
  if (bytes[at] !== escapeByte) return undefined;
  for (const length of [3, 2]) {
    const name = bytes.toString("latin1", at + 1, at + 1 + length);
    if (Object.hasOwn(japaneseTables, name)) return { length: 1 + length, table: japaneseTables[name] };
  }
  return undefined;
};

/** Handles SO and SI; the only table is chosen by the escape before the first of them. Each line begins in ASCII. */
const koreanOrChinese: NextShift = (bytes, at) => {
  if (bytes[at] === shiftOut) return { length: 1, table: twoBytes };
  if (bytes[at] === shiftIn) return { length: 1, table: undefined };
  return bytes[at] === escapeByte && bytes[at + 1] === 0x24 ? { length: 4, table: undefined } : undefined;
};

const hz: NextShift = (bytes, at, current) => {
  if (bytes[at] !== tilde) return undefined;
  if (current) return bytes[at + 1] === 0x7d ? { length: 2, table: undefined } : undefined;
  if (bytes[at + 1] === 0x7b) return { length: 2, table: twoBytes };
  // A doubled tilde is one tilde; a tilde before a line end joins the lines.
  if (bytes[at + 1] === tilde) return { length: 1, table: undefined };
  return bytes[at + 1] === newline ? { length: 2, table: undefined } : undefined;
};

const shiftsOf: Readonly<Record<string, { encoding: string; next: NextShift }>> = {
  "iso-2022-jp": { encoding: "euc-jp", next: japanese },
  "iso-2022-kr": { encoding: "euc-kr", next: koreanOrChinese },
  "iso-2022-cn": { encoding: "gbk", next: koreanOrChinese },
  hz: { encoding: "gbk", next: hz },
};

function follow(next: NextShift, bytes: Buffer): Buffer {
  // With its prefix a one-byte character takes at most two bytes, a two-byte one three.
  const plain = Buffer.allocUnsafe(2 * bytes.length);
  let length = 0;
  let table: CharsetTable;
  for (let at = 0; at < bytes.length; ) {
    const shift = next(bytes, at, table);
    if (shift) {
      table = shift.table;
      at += shift.length;
      if (shift.length === 1 && bytes[at] === tilde) plain[length++] = bytes[at++]!;
      continue;
    }
    const isOfTable =
      table !== undefined && isGraphic(bytes[at]!) && (table.width === 1 || isGraphic(bytes[at + 1] ?? 0));
    if (table === undefined || !isOfTable) {
      if (bytes[at] === newline) table = undefined;
      plain[length++] = bytes[at++]!;
      continue;
    }
    for (const byte of table.prefix) plain[length++] = byte;
    for (let n = 0; n < table.width; n++) plain[length++] = bytes[at++]! | 0x80;
  }
  return plain.subarray(0, length);
}

const isGraphic = (byte: number): boolean => byte > 0x20 && byte < 0x7f;
