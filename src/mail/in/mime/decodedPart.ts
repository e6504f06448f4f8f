import PostalMime from "postal-mime";
import { parserOptions } from "../capped.ts";
import type { ParsedAttachment } from "../parsedMail.ts";
import { storableLine } from "../storable.ts";
import type { Part } from "./partTree.ts";

const mediaType = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/;

/** What a part contains as text, whatever its type says that it is. Neither format=flowed nor HTML is read. */
export async function textOfPart({ contentType, source }: Part): Promise<string> {
  const charset = contentType.parameters.get("charset")?.replace(/[^\w.:+-]/g, "");
  // The first of two fields of one name counts.
  const fields = `Content-Type: text/plain${charset ? `; charset=${charset}` : ""}\r\nContent-Disposition: inline\r\n`;
  const { text } = await PostalMime.parse(bufferOf(fields, source), parserOptions);
  return text ?? "";
}

/** A part as a file. Undefined for one without any content. */
export async function fileOfPart({ contentType, source, around }: Part): Promise<ParsedAttachment | undefined> {
  // In a multipart/digest a part without a type is a mail.
  const isMail = contentType.value === "message/rfc822" && contentType.parameters.size === 0;
  const fields = isMail ? "Content-Type: message/rfc822\r\n" : "";
  const { attachments } = await PostalMime.parse(bufferOf(fields, source), parserOptions);
  const [file] = attachments;
  if (!file) return undefined;
  const { filename, mimeType, contentId, disposition, content } = file;
  const isRelated = around.some((parent) => parent.contentType.value === "multipart/related");
  return {
    filename: filename ? storableLine(filename, 255) || null : null,
    contentType: mediaType.test(mimeType) ? mimeType : "application/octet-stream",
    contentId: contentId ? storableLine(contentId.replace(/[<>]/g, ""), 255) || null : null,
    inline: disposition === "inline" || (isRelated && contentId !== undefined),
    bytes: Buffer.from(ownBuffer(content as ArrayBuffer | Uint8Array)),
  };
}

/** Not a slice of Node's shared pool: that cannot be handed to another thread. */
export const ownBuffer = (content: ArrayBuffer | Uint8Array): ArrayBuffer =>
  content instanceof ArrayBuffer ? content : (new Uint8Array(content).buffer as ArrayBuffer);

/** The parser takes a buffer as it is; of a view it makes a copy. */
function bufferOf(fields: string, source: Buffer): ArrayBuffer {
  const bytes = new Uint8Array(fields.length + source.length);
  bytes.set(Buffer.from(fields));
  bytes.set(source, fields.length);
  return bytes.buffer;
}
