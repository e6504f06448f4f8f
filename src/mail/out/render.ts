import { createHash } from "node:crypto";
import { domainToASCII } from "node:url";
import MailComposer, { type MailComposerOptions } from "nodemailer/lib/mail-composer";
import { encodeWord } from "nodemailer/lib/mime-funcs";
import type { Envelope, MailParts } from "#src/mail/mailProvider.ts";
import type { DraftContent } from "#streams/draft/content.ts";
import { sendableAddress } from "#streams/emailAddress/addrSpec.ts";
import { composeBodies } from "./bodies.ts";
import { assertAddress, assertHeaders, assertOneLine, assertSafeHeaders, Unrenderable } from "./headerSafety.ts";
import { endingOf, picturesIn, pictureTypeOf } from "./pictures.ts";
import { boundReferences } from "./threadHeaders.ts";

/** A mail ready for hand-over: MIME with CRLF line ends, its recipients (the MIME names no Bcc), and the same content part by part. */
export type RenderedMail = { mime: Buffer; envelope: Envelope; letter: MailParts };

export type MailToRender = {
  content: DraftContent;
  /** With angle brackets. */
  messageId: string;
  /** Written with a precision of one second. */
  date: Date;
  /** Bytes of the content's attachments, and of its signature's pictures, by sha256. */
  attachments: ReadonlyMap<string, Buffer>;
  /** True if no person or key approved it (default false): it is marked as an automatic reply, so that no other machine answers it (RFC 3834, 5). */
  isAutomatic?: boolean;
};

/** Returns the hashes of all bytes that a mail of this content carries: a body shows only pictures of its own attachments. */
export const filesOf = (content: DraftContent): string[] => [
  ...new Set([...content.attachments.map(({ sha256 }) => sha256), ...signaturePictures(content)]),
];

const signaturePictures = ({ body_html, signature_html }: DraftContent): string[] =>
  body_html === null ? [] : picturesIn(signature_html);

/** Renders a draft as MIME. The same input gives the same bytes. Throws Unrenderable. */
export async function renderMail({
  content,
  messageId,
  date,
  attachments,
  isAutomatic = false,
}: MailToRender): Promise<RenderedMail> {
  assertSafeHeaders(content);
  const { text, html } = composeBodies(content);
  // The mail's own id comes last: if a relay replaces the Message-ID, an answer still names our id.
  const references = boundReferences([...content.references, messageId]);
  const inReplyTo = boundReferences([content.in_reply_to ?? ""])[0];
  const parts = partsOf(content, attachments);
  const subject = subjectHeader(content.subject);
  const marks: Record<string, string> = isAutomatic ? { "Auto-Submitted": "auto-replied" } : {};
  const mime = await compose({
    ...identification(messageId, date),
    from: content.from,
    to: content.to.map(bare),
    cc: content.cc.map(bare),
    replyTo: content.reply_to === null ? undefined : bare(content.reply_to),
    ...subject,
    ...(isAutomatic && { headers: { ...marks, ...subject.headers } }),
    inReplyTo,
    references,
    text: unixLines(text),
    html: html === null ? undefined : unixLines(html),
    attachments: parts,
  });
  const letter: MailParts = {
    from: { name: content.from.name, address: forSmtp(content.from.address) },
    to: content.to.map(forSmtp),
    cc: content.cc.map(forSmtp),
    bcc: content.bcc.map(forSmtp),
    replyTo: content.reply_to === null ? null : forSmtp(content.reply_to),
    subject: content.subject,
    text: unixLines(text),
    html: html === null ? null : unixLines(html),
    headers: {
      "Message-ID": messageId,
      ...(inReplyTo !== undefined && { "In-Reply-To": inReplyTo }),
      References: references.join(" "),
      ...marks,
    },
    attachments: parts.map(({ filename, contentType, content, cid = null }) => ({
      ...{ filename, contentType, content },
      contentId: cid,
    })),
  };
  const envelope = envelopeOf(content.from.address, [...content.to, ...content.cc, ...content.bcc]);
  return { mime, envelope, letter };
}

export type NoticeToRender = {
  from: { name: string; address: string };
  to: string;
  subject: string;
  text: string;
  html: string;
  /** With angle brackets. */
  messageId: string;
  date: Date;
  /** Additional headers by name; none of the usual ones. */
  headers?: Readonly<Record<string, string>>;
};

/**
 * Renders a notification mail of the service (an approval request). Marked as automatic, so that no other machine answers it. Throws
 * Unrenderable.
 */
export async function renderNotice(notice: NoticeToRender): Promise<RenderedMail> {
  const more = Object.entries(notice.headers ?? {});
  assertAddress("from.address", notice.from.address);
  assertAddress("to", notice.to);
  for (const [name, value] of [["from.name", notice.from.name], ["subject", notice.subject], ...more] as const)
    assertOneLine(name, value);
  for (const [name] of more) {
    if (!/^[A-Za-z][A-Za-z0-9-]*$/.test(name) || usualHeaders.has(name.toLowerCase()))
      throw new Unrenderable(`not a header to add: ${name}`);
  }
  const subject = subjectHeader(notice.subject);
  const headers = {
    "Auto-Submitted": "auto-generated",
    "X-Auto-Response-Suppress": "All",
    ...Object.fromEntries(more),
  };
  const [text, html] = [unixLines(notice.text), unixLines(notice.html)];
  const mime = await compose({
    ...identification(notice.messageId, notice.date),
    from: notice.from,
    to: [bare(notice.to)],
    ...subject,
    headers: { ...headers, ...subject.headers },
    text,
    html,
  });
  const letter: MailParts = {
    from: { name: notice.from.name, address: forSmtp(notice.from.address) },
    ...{ to: [forSmtp(notice.to)], cc: [], bcc: [], replyTo: null },
    ...{ subject: notice.subject, text, html, attachments: [] },
    headers: { "Message-ID": notice.messageId, ...headers },
  };
  return { mime, envelope: envelopeOf(notice.from.address, [notice.to]), letter };
}

const usualHeaders: ReadonlySet<string> = new Set(
  "from to cc reply-to subject message-id in-reply-to references date mime-version content-type content-transfer-encoding".split(
    " ",
  ),
);

/**
 * Fixes everything that would otherwise be random or taken from the clock. The boundary cannot be guessed before the Message-ID is
 * minted.
 */
function identification(messageId: string, date: Date): MailComposerOptions {
  assertOneLine("message_id", messageId);
  return {
    messageId,
    date,
    baseBoundary: createHash("sha256").update(messageId).digest("hex").slice(0, 32),
    boundaryPrefix: "=_",
  };
}

async function compose(options: MailComposerOptions): Promise<Buffer> {
  const composer = new MailComposer({ ...options, newline: "win", disableFileAccess: true, disableUrlAccess: true });
  const mime = await composer.compile().build();
  assertHeaders(
    mime,
    new Set([...usualHeaders, ...Object.keys(options.headers ?? {}).map((name) => name.toLowerCase())]),
  );
  return mime;
}

// nodemailer takes an object as one address, whatever it contains; it would parse a string as a list.
const bare = (address: string) => ({ name: "", address: sendableAddress(address) ?? address });

const unixLines = (text: string): string => text.replace(/\r\n?/g, "\n");

/** Encodes words that are too long for a line: only encoded words can be folded. */
const subjectHeader = (subject: string): Pick<MailComposerOptions, "subject" | "headers"> =>
  /\S{200}/.test(subject)
    ? { headers: { Subject: { prepared: true, foldLines: true, value: encodeWord(subject, "B", 52) } } }
    : { subject };

type Part = {
  filename: string;
  contentType: string;
  content: Buffer;
  contentDisposition: "attachment" | "inline";
  contentTransferEncoding: "base64";
  cid?: string;
};

/** Files that the HTML shows become parts that it names by hash, once each; all others are attached. */
function partsOf(content: DraftContent, bytes: MailToRender["attachments"]): Part[] {
  const ofSignature = new Set(signaturePictures(content));
  const shown = new Set([...picturesIn(content.body_html), ...ofSignature]);
  const parts = content.attachments.map((file) => {
    ofSignature.delete(file.sha256);
    // Only pictures are shown inside the mail, whatever their names.
    const isPicture = pictureTypeOf(bytes.get(file.sha256) ?? Buffer.alloc(0)) !== null;
    return isPicture && shown.delete(file.sha256) ? inline(file, bytes) : attached(file, bytes);
  });
  return [...parts, ...[...ofSignature].map((sha256) => inline(signaturePicture(sha256, bytes), bytes))];
}

function signaturePicture(sha256: string, bytes: MailToRender["attachments"]): DraftContent["attachments"][number] {
  const type = pictureTypeOf(bytes.get(sha256) ?? Buffer.alloc(0));
  if (type === null) throw new Unrenderable(`the bytes of picture ${sha256} are missing`);
  return { filename: `picture.${endingOf(type)}`, content_type: type, sha256 };
}

const inline = (file: DraftContent["attachments"][number], bytes: MailToRender["attachments"]): Part => ({
  ...attached(file, bytes),
  // The type of the actual bytes, not the declared one: a program may show a part of another type as it likes.
  contentType: pictureTypeOf(bytes.get(file.sha256) ?? Buffer.alloc(0)) ?? "application/octet-stream",
  cid: file.sha256,
  contentDisposition: "inline",
});

function attached(
  { filename, content_type, sha256 }: DraftContent["attachments"][number],
  bytes: MailToRender["attachments"],
): Part {
  const content = bytes.get(sha256);
  if (!content) throw new Unrenderable(`the bytes of attachment ${sha256} are missing`);
  // The types message and multipart must not be base64-encoded (RFC 2045, 6.4), and any other encoding might change their bytes in transit.
  const contentType = /^\s*(message|multipart)\//i.test(content_type) ? "application/octet-stream" : content_type;
  return { filename, content, contentType, contentDisposition: "attachment", contentTransferEncoding: "base64" };
}

function envelopeOf(from: string, to: readonly string[]): Envelope {
  const byAddress = new Map(to.map(forSmtp).map((address) => [address.toLowerCase(), address]));
  return { from: forSmtp(from), to: [...byAddress.values()] };
}

/**
 * Formats an address for SMTP: quoted if necessary, as in the headers; its domain in ASCII unless the local part needs SMTPUTF8 anyway.
 */
function forSmtp(given: string): string {
  const { address } = bare(given);
  const at = address.lastIndexOf("@");
  const [local, domain] = [address.slice(0, at), address.slice(at + 1)];
  // biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII
  return /^[\x00-\x7f]*$/.test(local) ? `${local}@${domainToASCII(domain) || domain}` : address;
}
