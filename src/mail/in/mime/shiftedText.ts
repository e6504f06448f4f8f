/**
 * Text of the 7-bit charsets of East Asia, which switch between ASCII and a national table by escapes. The tables are those of the EUC
 * encodings, where the same numbers have the high bit set: so the escapes are followed here, and the library reads the rest. Undefined for
 * a charset that has no such escapes.
 */
export function unshifted(charset: string, bytes: Buffer): { encoding: string; plain: Buffer } | undefined {
  const shifts = shiftsOf[charset];
  return shifts && { encoding: shifts.encoding, plain: follow(shifts.next, bytes) };
}

/** The characters that follow an escape: one-byte characters, or two-byte ones, each with what comes before it in EUC. */
type Table = { width: 1 | 2; prefix: readonly number[] } | undefined;
/** The escape at this place: its length and the table that it begins; undefined if there is none. */
type NextShift = (bytes: Buffer, at: number, current: Table) => { length: number; table: Table } | undefined;

const twoBytes: Table = { width: 2, prefix: [] };
const [escapeByte, shiftOut, shiftIn, tilde, newline] = [0x1b, 0x0e, 0x0f, 0x7e, 0x0a];

const japaneseTables: Readonly<Record<string, Table>> = {
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

/** SO and SI; the escape before the first of them says which table, of which there is one. A line begins in ASCII. */
const koreanOrChinese: NextShift = (bytes, at) => {
  if (bytes[at] === shiftOut) return { length: 1, table: twoBytes };
  if (bytes[at] === shiftIn) return { length: 1, table: undefined };
  return bytes[at] === escapeByte && bytes[at + 1] === 0x24 ? { length: 4, table: undefined } : undefined;
};

const hz: NextShift = (bytes, at, current) => {
  if (bytes[at] !== tilde) return undefined;
  if (current) return bytes[at + 1] === 0x7d ? { length: 2, table: undefined } : undefined;
  if (bytes[at + 1] === 0x7b) return { length: 2, table: twoBytes };
  // A doubled tilde is one, and one before a line end joins the lines.
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
  // A one-byte character with its prefix is two bytes at most, a two-byte one three.
  const plain = Buffer.allocUnsafe(2 * bytes.length);
  let length = 0;
  let table: Table;
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
