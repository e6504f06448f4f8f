import { inflateRawSync } from "node:zlib";

/** Bytes and files that may still be unpacked from one mail. */
export type UnpackRoom = { bytes: number; files: number };

/** A file that another one holds. */
export type UnpackedFile = { filename: string; bytes: Buffer };

const endRecord = Buffer.from("PK\x05\x06", "latin1");
const endRecordBytes = 22;
/** A comment of up to this many bytes may follow the end record. */
const maxCommentBytes = 0xffff;
const entryBytes = 46;
const localHeaderBytes = 30;
/** Sizes (64-bit at most) and a checksum may follow a file's bytes. */
const maxDescriptorBytes = 24;
const isEncrypted = 1;

/** Finds the end record of a ZIP archive; -1 if the file has none. An archive may be appended to another file. */
export const zipEnd = (file: Buffer): number => {
  const at = file.lastIndexOf(endRecord);
  return at >= file.length - endRecordBytes - maxCommentBytes ? at : -1;
};

/**
 * Returns the files of a ZIP archive; undefined if it may contain more than can be seen: it is damaged, encrypted, too large for the
 * remaining room, not compressed by deflate, has 64-bit sizes, or has bytes between its files that its directory does not list.
 */
export function filesOfZip(file: Buffer, room: UnpackRoom): UnpackedFile[] | undefined {
  const end = zipEnd(file);
  if (end < 0 || end + endRecordBytes > file.length) return undefined;
  const count = file.readUInt16LE(end + 10);
  const directory = file.readUInt32LE(end + 16);
  room.files -= count;
  if (room.files < 0 || directory + file.readUInt32LE(end + 12) !== end) return undefined;
  const files: UnpackedFile[] = [];
  const regions: { start: number; end: number }[] = [];
  let at = directory;
  for (let index = 0; index < count; index += 1) {
    if (at + entryBytes > end || file.toString("latin1", at, at + 4) !== "PK\x01\x02") return undefined;
    const next = at + entryBytes + lengthsAt(file, at + 28, 3);
    const size = file.readUInt32LE(at + 20);
    const start = file.readUInt32LE(at + 42);
    if (start + localHeaderBytes > directory || file.toString("latin1", start, start + 4) !== "PK\x03\x04")
      return undefined;
    const dataAt = start + localHeaderBytes + lengthsAt(file, start + 26, 2);
    if ((file.readUInt16LE(at + 8) & isEncrypted) !== 0 || dataAt + size > directory) return undefined;
    const bytes = unpacked(file.subarray(dataAt, dataAt + size), file.readUInt16LE(at + 10), room);
    if (bytes?.length !== file.readUInt32LE(at + 24)) return undefined;
    files.push({
      filename: file.toString("utf8", at + entryBytes, at + entryBytes + file.readUInt16LE(at + 28)),
      bytes,
    });
    regions.push({ start, end: dataAt + size });
    at = next;
  }
  return at === end && isSeamless(regions, directory) ? files : undefined;
}

const lengthsAt = (file: Buffer, at: number, count: number): number => {
  let sum = 0;
  for (let index = 0; index < count; index += 1) sum += file.readUInt16LE(at + 2 * index);
  return sum;
};

/** False if files overlap, or if bytes before, between or after them belong to no file of the directory. */
function isSeamless(regions: { start: number; end: number }[], directory: number): boolean {
  let reached = 0;
  for (const { start, end } of regions.sort((a, b) => a.start - b.start)) {
    if (start < reached || start > reached + (reached === 0 ? 0 : maxDescriptorBytes)) return false;
    reached = end;
  }
  return directory - reached <= (reached === 0 ? 0 : maxDescriptorBytes);
}

function unpacked(packed: Buffer, method: number, room: UnpackRoom): Buffer | undefined {
  if (method !== 0 && method !== 8) return undefined;
  return method === 0
    ? within(room, () => packed)
    : within(room, (maxOutputLength) => inflateRawSync(packed, { maxOutputLength }));
}

/** Unpacks into the remaining room; undefined if the data is damaged or does not fit. */
export function within(room: UnpackRoom, unpack: (most: number) => Buffer): Buffer | undefined {
  if (room.bytes <= 0) return undefined;
  try {
    const bytes = unpack(room.bytes);
    room.bytes -= bytes.length;
    return room.bytes < 0 ? undefined : bytes;
  } catch {
    room.bytes = 0;
    return undefined;
  }
}
