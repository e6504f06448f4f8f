import type { Reply } from "../../framework/reply.ts";

/** A file as the download route answers it. */
export type AttachedFile = { filename: string; contentType: string; bytes: Buffer };

/** Maximum number of bytes of a file that is read as text, because a tool returns text in pages and a larger file would have too many. */
const maxTextBytes = 2 * 1024 * 1024;

export function fileOf({ content, headers }: Reply): AttachedFile {
  if (!("bytes" in content)) throw new Error("an attachment without its bytes");
  const name = /filename\*=UTF-8''(\S+)$/.exec(headers["Content-Disposition"] ?? "")?.[1] ?? "attachment";
  return {
    filename: decodeURIComponent(name),
    contentType: headers["Content-Type"] ?? "application/octet-stream",
    bytes: Buffer.from(content.bytes),
  };
}

/** The text of a file, judged by its bytes instead of its declared type; null if it is not text. */
export function textOfFile({ bytes }: AttachedFile): string | null {
  const end = bytes.length <= maxTextBytes ? bytes.length : endOfWhole(bytes, maxTextBytes);
  const text = decoded(bytes.subarray(0, end));
  if (text === null || markers.some((marker) => text.startsWith(marker)) || binary.test(text)) return null;
  return end === bytes.length ? text : `${text}\n[the remaining ${bytes.length - end} bytes are not read]`;
}

/** Formats that consist of text characters but are not readable as text. */
const markers = ["%PDF-", "%!PS", "{\\rtf"];
// biome-ignore lint/suspicious/noControlCharactersInRegex: what no text has
const binary = /[\u0000-\u0008\u000e-\u001a\u001c-\u001f]/;

function decoded(bytes: Buffer): string | null {
  try {
    return new TextDecoder(encodingOf(bytes), { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

function encodingOf([first, second]: Buffer): string {
  if (first === 0xff && second === 0xfe) return "utf-16le";
  return first === 0xfe && second === 0xff ? "utf-16be" : "utf-8";
}

/** The last position up to `at` that does not split a UTF-8 character. */
function endOfWhole(bytes: Buffer, at: number): number {
  let end = at;
  while (end > 0 && (bytes[end]! & 0xc0) === 0x80) end -= 1;
  return end;
}
