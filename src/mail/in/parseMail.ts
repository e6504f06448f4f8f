import PostalMime, { type Attachment, type Email } from "postal-mime";
import { extractReply, textOfHtml, withoutTags } from "./bodies.ts";
import { isDeeperThan } from "./htmlDepth.ts";
import { type ParsedAttachment, type ParsedMail, type ParseLimits, unreadableMail } from "./parsedMail.ts";
import { storable, storableLine } from "./storable.ts";

/** Deeper HTML costs every later reader (sanitisers, browsers) more than a letter is worth. */
const maxHtmlDepth = 512;
const maxMultipartDepth = 100;
const mediaType = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/;

/** Reads a mail. What the parser refuses comes back as unreadable; bounds of time and memory are the caller's (parse.ts). */
export async function parseMail(raw: Uint8Array, limits: ParseLimits): Promise<ParsedMail> {
  let email: Email;
  try {
    email = await PostalMime.parse(raw, { maxNestingDepth: maxMultipartDepth, forceRfc822Attachments: true });
  } catch (error) {
    return unreadableMail(`the parser rejected it: ${storableLine(String((error as Error).message), 300)}`);
  }
  if (email.attachments.length > limits.maxAttachments) {
    return unreadableMail(`it has ${email.attachments.length} attachments: at most ${limits.maxAttachments} are read`);
  }
  return withBodies(email, limits);
}

function withBodies(email: Email, limits: ParseLimits): ParsedMail {
  const attachments = email.attachments.map(toAttachment);
  const html = email.html ? storable(email.html) : null;
  const tangled = html !== null && isDeeperThan(html, maxHtmlDepth);
  const htmlFits = !tangled && (html === null || Buffer.byteLength(html) <= limits.maxHtmlBytes);
  if (html !== null && !htmlFits) attachments.push(bodyAttachment("body.html", "text/html", html));
  const text = textOf(email, html, tangled);
  const textFits = text === null || Buffer.byteLength(text) <= limits.maxTextBytes;
  if (!textFits) attachments.push(bodyAttachment("body.txt", "text/plain", text));
  const bodyText = textFits ? text : cut(text, limits.maxTextBytes);
  return {
    bodyText,
    bodyHtml: htmlFits ? html : null,
    extractedText: bodyText === null ? "" : extractReply(bodyText),
    attachments,
    unreadable: null,
  };
}

function textOf(email: Email, html: string | null, tangled: boolean): string | null {
  if (email.text !== undefined) return storable(email.text);
  if (html === null) return null;
  return tangled ? withoutTags(html) : textOfHtml(html);
}

const cut = (text: string, bytes: number): string => Buffer.from(text).subarray(0, bytes).toString();

function toAttachment(attachment: Attachment): ParsedAttachment {
  const { filename, mimeType, contentId, disposition, related, content } = attachment;
  return {
    filename: filename ? storableLine(filename, 255) || null : null,
    contentType: mediaType.test(mimeType) ? mimeType : "application/octet-stream",
    contentId: contentId ? storableLine(contentId.replace(/[<>]/g, ""), 255) || null : null,
    inline: disposition === "inline" || related === true,
    bytes: Buffer.from(content as ArrayBuffer),
  };
}

const bodyAttachment = (filename: string, type: string, body: string): ParsedAttachment => ({
  filename,
  contentType: `${type}; charset=utf-8`,
  contentId: null,
  inline: false,
  // Not Buffer.from(body): a slice of Node's shared pool cannot be handed to another thread.
  bytes: Buffer.from(new TextEncoder().encode(body).buffer),
});
