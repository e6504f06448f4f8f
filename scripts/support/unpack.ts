import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { inflateRawSync } from "node:zlib";

/** A file in a ZIP archive. */
export type PackedFile = { name: string; bytes: Buffer };

const endMark = 0x06054b50;
const entryMark = 0x02014b50;

/**
 * Returns the files of a ZIP archive, by its directory. Throws on archives of other kinds: encrypted, larger than 4 GB, in several parts; and
 * on those that another program could unpack to other files: with bytes after the end, or a name twice.
 */
export function unzip(archive: Buffer): PackedFile[] {
  const end = archive.lastIndexOf(Buffer.from([0x50, 0x4b, 5, 6]));
  if (end < 0 || archive.readUInt32LE(end) !== endMark) throw new Error("it is no ZIP archive, or it is not complete");
  const directoryEnd = archive.readUInt32LE(end + 12) + archive.readUInt32LE(end + 16);
  if (directoryEnd !== end || end + 22 + archive.readUInt16LE(end + 20) !== archive.length)
    throw new Error("it has more bytes than one archive");
  const files: PackedFile[] = [];
  const names = new Set<string>();
  let at = archive.readUInt32LE(end + 16);
  for (let left = archive.readUInt16LE(end + 10); left > 0; left -= 1) {
    if (archive.readUInt32LE(at) !== entryMark) throw new Error("its directory is damaged");
    const [method, packed] = [archive.readUInt16LE(at + 10), archive.readUInt32LE(at + 20)];
    const [nameLength, extra, comment] = [28, 30, 32].map((offset) => archive.readUInt16LE(at + offset)) as [
      number,
      number,
      number,
    ];
    const name = archive.toString("utf8", at + 46, at + 46 + nameLength);
    if (names.has(name.toLowerCase())) throw new Error(`it has the name ${JSON.stringify(name)} twice`);
    names.add(name.toLowerCase());
    const local = archive.readUInt32LE(at + 42);
    const begin = local + 30 + archive.readUInt16LE(local + 26) + archive.readUInt16LE(local + 28);
    const data = archive.subarray(begin, begin + packed);
    files.push({ name, bytes: method === 0 ? data : inflateRawSync(data) });
    at += 46 + nameLength + extra + comment;
  }
  return files;
}

/** Writes the files of a ZIP archive into a folder. Throws if a name leads out of it. */
export async function unpackInto(folder: string, archive: Buffer): Promise<void> {
  for (const { name, bytes } of unzip(archive)) {
    if (name.startsWith("/") || /[\\:]/.test(name) || name.split("/").includes(".."))
      throw new Error(`the name ${JSON.stringify(name)} leads out of the folder`);
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), bytes);
  }
}
