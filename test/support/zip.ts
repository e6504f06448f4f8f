import { crc32, deflateRawSync } from "node:zlib";

export type Packed = {
  name: string;
  content: Buffer;
  /** The general purpose flags. */
  flags?: number;
  /** Compression method; default 8 (deflate). */
  method?: number;
  /** A false size for the headers. */
  size?: number;
};

/** Makes a ZIP archive of these files. */
export function zip(files: readonly Packed[]): Buffer {
  const locals: Buffer[] = [];
  const directory: Buffer[] = [];
  let at = 0;
  for (const { name, content, flags = 0, method = 8, size = content.length } of files) {
    const data = method === 8 ? deflateRawSync(content) : content;
    const shared = Buffer.alloc(26);
    shared.writeUInt16LE(20, 0);
    shared.writeUInt16LE(flags, 2);
    shared.writeUInt16LE(method, 4);
    shared.writeUInt32LE(crc32(content), 10);
    shared.writeUInt32LE(data.length, 14);
    shared.writeUInt32LE(size, 18);
    shared.writeUInt16LE(name.length, 22);
    const offset = Buffer.alloc(14);
    offset.writeUInt32LE(at, 10);
    directory.push(Buffer.from("PK\x01\x02\x14\0", "latin1"), shared, offset, Buffer.from(name));
    const local = [Buffer.from("PK\x03\x04", "latin1"), shared, Buffer.from(name), data];
    locals.push(...local);
    at += Buffer.concat(local).length;
  }
  const end = Buffer.alloc(18);
  end.writeUInt16LE(files.length, 4);
  end.writeUInt16LE(files.length, 6);
  end.writeUInt32LE(Buffer.concat(directory).length, 8);
  end.writeUInt32LE(at, 12);
  return Buffer.concat([...locals, ...directory, Buffer.from("PK\x05\x06", "latin1"), end]);
}
