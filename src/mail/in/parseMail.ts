import PostalMime, { type Attachment, type Email } from "postal-mime";
import { extractReply, textOfHtml, withoutTags } from "./bodies.ts";
import { cappedForParser, parserOptions } from "./capped.ts";
import { isDeeperThan } from "./htmlDepth.ts";
import { runsInMail } from "./links/mailRuns.ts";
import {
  maxNoteLength,
  maxNotes,
  type ParsedAttachment,
  type ParsedMail,
  type ParseLimits,
  unreadableMail,
} from "./parsedMail.ts";
import { storable, storableLine } from "./storable.ts";

/** Deeper HTML costs every later reader (sanitisers, browsers) more than a letter is worth. */
const maxHtmlDepth = 512;
const mediaType = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/;

/** Reads a mail. What the parser refuses comes back as unreadable; bounds of time and memory are the caller's (readerPool.ts). */
export async function parseMail(raw: Buffer, limits: ParseLimits): Promise<ParsedMail> {
  let email: Email;
  let cut: string | null;
  try {
    const capped = cappedForParser(raw);
    cut = capped.cut;
    // Its buffer: of a view the parser makes a copy.
    email = await PostalMime.parse(capped.bytes.buffer, parserOptions);
  } catch (error) {
    return unreadableMail(`the parser rejected it: ${storableLine(String((error as Error).message), 300)}`);
  }
  if (email.attachments.length > limits.maxAttachments) {
    return unreadableMail(`it has ${email.attachments.length} attachments: at most ${limits.maxAttachments} are read`);
  }
  const { attachments, ...bodies } = bodiesOf(email, limits);
  const notes = cut === null ? [] : [`The mail is too long to be read whole: ${cut}.`];
  const shown = await runsInMail(bodies, { raw, attachments, isCut: cut !== null });
  return { ...shown, attachments, unreadable: null, cut, notes: shownNotes(notes) };
}

/** Each note once, within the bounds of a message. */
const shownNotes = (notes: readonly string[]): string[] =>
  [...new Set(notes)].slice(0, maxNotes).map((note) => storableLine(note, maxNoteLength));

type Bodies = Pick<ParsedMail, "bodyText" | "bodyHtml" | "extractedText" | "attachments">;

function bodiesOf(email: Email, limits: ParseLimits): Bodies {
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
    bytes: Buffer.from(ownBuffer(content as ArrayBuffer | Uint8Array)),
  };
}

/** Not a slice of Node's shared pool: that cannot be handed to another thread. */
const ownBuffer = (content: ArrayBuffer | Uint8Array): ArrayBuffer =>
  content instanceof ArrayBuffer ? content : (new Uint8Array(content).buffer as ArrayBuffer);

const bodyAttachment = (filename: string, type: string, body: string): ParsedAttachment => ({
  filename,
  contentType: `${type}; charset=utf-8`,
  contentId: null,
  inline: false,
  bytes: Buffer.from(ownBuffer(new TextEncoder().encode(body))),
});
