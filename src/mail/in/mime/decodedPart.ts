import { readHeaderFields } from "../headerFields.ts";
import type { ParsedAttachment } from "../parsedMail.ts";
import { storableLine } from "../storable.ts";
import { decodeText } from "./charsets.ts";
import { decodeWords } from "./encodedWords.ts";
import type { Part } from "./partTree.ts";
import { contentOf, type DecodedContent } from "./transferEncodings.ts";

const mediaType = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/;

/** Decodes a part as text, whatever its type; lines end in LF. Interprets neither format=flowed nor HTML. */
export function textOfPart(part: Part): { text: string; notes: string[] } {
  const { encoding, content } = decoded(part, true);
  const { value, parameters } = part.contentType;
  const { text, doubt } = decodeText(content.bytes, {
    label: parameters.get("charset"),
    isHtml: value === "text/html",
  });
  const lines = text.replaceAll("\r\n", "\n");
  const isEnded = lines === "" || lines.endsWith("\n") || encoding.includes("base64");
  return { text: isEnded ? lines : `${lines}\n`, notes: [content.repaired, doubt].filter((note) => note !== null) };
}

/** Decodes a part as a file, to its original bytes. */
export function fileOfPart(part: Part): ParsedAttachment {
  const { content, contentId } = decoded(part, false);
  const { contentType, disposition, around } = part;
  const filename = disposition.parameters.get("filename") || contentType.parameters.get("name");
  const isRelated = around.some((parent) => parent.contentType.value === "multipart/related");
  return {
    filename: filename ? storableLine(decodeWords(filename), 255) || null : null,
    contentType: mediaType.test(contentType.value) ? contentType.value : "application/octet-stream",
    contentId: storableLine(contentId.replace(/[<>]/g, ""), 255) || null,
    inline: disposition.value === "inline" || (isRelated && contentId !== ""),
    bytes: Buffer.from(ownBuffer(content.bytes)),
  };
}

const fieldNames = new Set(["content-transfer-encoding", "content-id"]);

function decoded(
  { source, bodyAt }: Part,
  isText: boolean,
): { encoding: string; contentId: string; content: DecodedContent } {
  const fields = readHeaderFields(source.subarray(0, bodyAt), fieldNames);
  const encoding = fields.first("content-transfer-encoding").toLowerCase();
  const content = contentOf(source.subarray(bodyAt), { encoding, isText });
  return { encoding, contentId: fields.first("content-id"), content };
}

/** Returns a separate buffer, not a slice of Node's shared pool, which cannot be transferred to another thread. */
export const ownBuffer = (content: ArrayBuffer | Uint8Array): ArrayBuffer =>
  content instanceof ArrayBuffer ? content : (new Uint8Array(content).buffer as ArrayBuffer);
