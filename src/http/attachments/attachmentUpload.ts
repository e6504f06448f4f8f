import type { EncodedFile } from "../framework/body/encodedFile.ts";
import { invalid } from "../framework/errors.ts";

const megabyte = 1024 * 1024;
const maxBytes = 10 * megabyte;
const maxTotalBytes = 25 * megabyte;

/** Media types that can be used in a part's header. No multipart: its content could not be encoded (RFC 2045, 6.4). */
const mediaType =
  /^(?!multipart\/)[\w!#$&^.+-]+\/[\w!#$&^.+-]+( *; *[\w!#$&^.+-]+=([\w!#$&^.+-]+|"[\x20\x21\x23-\x5b\x5d-\x7e]*"))*$/i;

/** Matches one path segment without characters that hide or reorder its file extension. */
const filenamePattern = /^(?!\.{1,2}$)[^/\\\p{Cc}\p{Zl}\p{Zp}\u200e\u200f\u202a-\u202e\u2066-\u2069]*$/u;

export type GivenAttachment = {
  filename: string;
  content_type: string;
  content_id?: string | null;
  content: EncodedFile;
};

/** Reads the attachments of a request body. Throws invalid_request naming the field. */
export function readAttachments(
  given: readonly GivenAttachment[],
): { filename: string; contentType: string; contentId: string | null; bytes: Buffer; sha256: string }[] {
  let total = 0;
  const contentIds = new Set<string>();
  return given.map(({ filename, content_type: contentType, content_id: contentId = null, content }, index) => {
    const at = `attachments[${index}]`;
    if (!filenamePattern.test(filename) || filename.trim() === "") {
      throw invalid(`${at}.filename`, "expected a file name without / and \\ and without invisible characters");
    }
    if (!mediaType.test(contentType)) throw invalid(`${at}.content_type`, "expected a media type like application/pdf");
    if (content.decoded === undefined) throw invalid(`${at}.content`, "expected base64");
    const { bytes, sha256 } = content.decoded;
    if (bytes.length > maxBytes) throw invalid(`${at}.content`, `expected at most ${maxBytes} bytes`);
    total += bytes.length;
    if (total > maxTotalBytes)
      throw invalid("attachments", `expected at most ${maxTotalBytes} bytes in all attachments together`);
    if (contentId !== null && contentIds.has(contentId)) {
      throw invalid(`${at}.content_id`, "another attachment has the same content_id: give each attachment its own");
    }
    if (contentId !== null) contentIds.add(contentId);
    return { filename, contentType, contentId, bytes, sha256 };
  });
}
