/** The last bytes of a file and the size of the whole. */
export type FileEnd = { end: Buffer; size: number };

const endOfDirectory = Buffer.from("PK\x05\x06", "latin1");
const endBytes = 22;
const entryBytes = 46;
const maxEntries = 10_000;

/**
 * Returns the file names of a ZIP archive, from the directory at its end. Null if the directory is missing, damaged, or not completely in
 * the given bytes.
 */
export function zipNames({ end, size }: FileEnd): string[] | null {
  const at = end.lastIndexOf(endOfDirectory, end.length - endBytes);
  if (at < 0) return null;
  const count = end.readUInt16LE(at + 10);
  const start = at - end.readUInt32LE(at + 12);
  if (start < 0 || count > maxEntries || size < end.length) return null;
  const names: string[] = [];
  let entry = start;
  while (names.length < count) {
    if (entry + entryBytes > at || end.toString("latin1", entry, entry + 4) !== "PK\x01\x02") return null;
    const nameEnd = entry + entryBytes + end.readUInt16LE(entry + 28);
    names.push(end.toString("utf8", entry + entryBytes, nameEnd));
    entry = nameEnd + end.readUInt16LE(entry + 30) + end.readUInt16LE(entry + 32);
  }
  return names;
}
