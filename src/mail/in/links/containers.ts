import { gunzipSync } from "node:zlib";
import { readEnveloped } from "../mime/signedData.ts";
import { decodeBase64, decodeQuotedPrintable } from "../mime/transferEncodings.ts";
import { filesOfZip, type UnpackRoom, within, zipEnd } from "./zip.ts";

/** A file contained in a mail or in another file. */
export type ContainedFile = { contentType: string; filename: string | null; bytes: Buffer };

/**
 * Returns the files packed inside a file, whose contents its own bytes do not show; most files contain none. Returns undefined if the file
 * may contain files that cannot be read, because it is encrypted, compressed in an unsupported way, damaged, or too large for the
 * remaining room.
 */
export function filesInside(
  { contentType, filename, bytes }: ContainedFile,
  room: UnpackRoom,
): ContainedFile[] | undefined {
  if (/^application\/(?:x-)?pkcs7-mime\b/i.test(contentType) || /\.p7m$/i.test(filename ?? "")) return signed(bytes);
  if (zipEnd(bytes) >= 0 || begins(bytes, "PK\x03\x04")) return filesOfZip(bytes, room)?.map(heldFile);
  if (begins(bytes, "\x1f\x8b")) {
    const plain = within(room, (maxOutputLength) => gunzipSync(bytes, { maxOutputLength }));
    return plain && [heldFile({ filename: null, bytes: plain })];
  }
  if (isClosed({ contentType, filename, bytes })) return undefined;
  if (begins(bytes, "{\\rtf")) return [textFile(wordsOfRtf(bytes))];
  return bytes.subarray(0, 1024).includes(0) ? [] : encodedIn(bytes, room);
}

const heldFile = ({ filename, bytes }: { filename: string | null; bytes: Buffer }): ContainedFile => ({
  contentType: "application/octet-stream",
  filename,
  bytes,
});

const textFile = (bytes: Buffer): ContainedFile => ({ contentType: "text/plain", filename: null, bytes });

function signed(bytes: Buffer): ContainedFile[] | undefined {
  const read = readEnveloped(bytes);
  if (read.kind !== "signed") return undefined;
  return read.content ? [{ contentType: "message/rfc822", filename: null, bytes: read.content }] : [];
}

const begins = (bytes: Buffer, text: string, at = 0): boolean =>
  bytes.toString("latin1", at, at + text.length) === text;

/** First bytes of archives and compressed files that are not supported here, and of encrypted ones. */
const closed: [at: number, text: string][] = [
  [0, "7z\xbc\xaf\x27\x1c"],
  [0, "Rar!\x1a\x07"],
  [0, "BZh"],
  [0, "\xfd7zXZ\0"],
  [0, "\x28\xb5\x2f\xfd"],
  [0, "\x04\x22\x4d\x18"],
  [0, "\x78\x01"],
  [0, "\x78\x9c"],
  [0, "\x78\xda"],
  [0, "\x1f\x9d"],
  [0, "\x1f\xa0"],
  [0, "LZIP"],
  [0, "\x5d\0\0"],
  [0, "MSCF"],
  [0, "ITSF"],
  [0, "\x60\xea"],
  [2, "-lh"],
  [7, "**ACE**"],
  [0, "xar!"],
  [0, "!<arch>"],
  [0, "\xed\xab\xee\xdb"],
  [0, "MSWIM\0\0\0"],
  [0, "\x76\xe8\x04\x60\xc4\x11\xe3\x86"],
  [0, "Salted__"],
  [0, "age-encryption.org/"],
  [0, "-----BEGIN AGE ENCRYPTED FILE-----"],
];

/** Files that contain others uncompressed: TNEF, the compound files of older Office and of .msg, tar. */
const plainContainers: [at: number, text: string][] = [
  [0, "\x78\x9f\x3e\x22"],
  [0, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"],
  [257, "ustar"],
];

/** Bytes in such a container that indicate unreadable content: compressed RTF, encrypted documents, archives. */
const closedInside = [
  Buffer.from("LZFu"),
  Buffer.from("EncryptedPackage", "utf16le"),
  ...["PK\x03\x04", "7z\xbc\xaf\x27\x1c", "Rar!\x1a\x07", "\x1f\x8b\x08", "\xfd7zXZ\0"].map((text) =>
    Buffer.from(text, "latin1"),
  ),
];

function isClosed({ contentType, filename, bytes }: ContainedFile): boolean {
  const isOneOf = (kinds: typeof closed): boolean => kinds.some(([at, text]) => begins(bytes, text, at));
  if (/^application\/pgp-encrypted\b/i.test(contentType) || /\.(?:pgp|gpg|br)$/i.test(filename ?? "")) return true;
  if (bytes.toString("latin1", 0, 1024).includes("-----BEGIN PGP MESSAGE-----")) return true;
  return isOneOf(closed) || (isOneOf(plainContainers) && closedInside.some((text) => bytes.includes(text)));
}

const rtfWords = /\\u(-?\d{1,6}) ?(?:\\'[\da-f]{2}|\?)?|\\'([\da-f]{2})|\\[a-z]+-?\d* ?|\\\*|[{}\r\n]/gi;

/** Removes the formatting commands of an RTF file, which may split an address anywhere. */
const wordsOfRtf = (bytes: Buffer): Buffer =>
  Buffer.from(
    bytes.toString("latin1").replace(rtfWords, (_, code?: string, hex?: string) => {
      if (code !== undefined) return String.fromCharCode(Number(code) & 0xffff);
      return hex === undefined ? "" : String.fromCharCode(Number.parseInt(hex, 16));
    }),
  );

/**
 * Matches a value declared as base64, or a long line, with everything that may continue it: bytes after its end decode to harmless noise.
 */
const base64Values =
  /(?:encoding=b(?:ase64)?\b[^:\r\n]{0,200}:|;base64[:,])([\w+/=\s]+)|[a-z0-9+/]{60}[a-z0-9+/=\s]*/gi;

/**
 * Decodes the encoded contents of a text file: a contact card, a calendar, an archive of mails or of a page, a page with its pictures.
 */
function encodedIn(bytes: Buffer, room: UnpackRoom): ContainedFile[] | undefined {
  const text = bytes.toString("latin1");
  const values = [...text.matchAll(base64Values)].map(([all, value = all]) => decodeBase64(Buffer.from(value)));
  const plain = /=\r?\n|=3d/i.test(text) ? [decodeQuotedPrintable(bytes)] : [];
  const found = [...plain, ...values];
  room.files -= found.length;
  return room.files < 0 ? undefined : found.map(textFile);
}
