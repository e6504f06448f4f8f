import type { DraftContent } from "#streams/draft/content.ts";
import { sendableAddress } from "#streams/emailAddress/addrSpec.ts";

/**
 * The mail cannot be written as requested: a value would break out of its header, or an attachment's bytes are missing. A retry does not
 * help.
 */
export class Unrenderable extends Error {
  override readonly name = "Unrenderable";
}

const breaksOut = /[\r\n\0]/;
/** Throws Unrenderable if a one-line value holds a line break or NUL. `field` names it in the message; the value is not repeated. */
export function assertOneLine(field: string, value: string): void {
  if (breaksOut.test(value)) throw new Unrenderable(`${field} contains a line break or NUL`);
}

/**
 * Throws Unrenderable unless the value is one plain addr-spec: no name, list or group, nothing that a header or an SMTP command would
 * read as two.
 */
export function assertAddress(field: string, address: string): void {
  if (sendableAddress(address) === null) throw new Unrenderable(`${field} is not one plain address`);
}

/** Throws Unrenderable for the first value of a draft that could break out of its header. */
export function assertSafeHeaders(content: DraftContent): void {
  assertAddress("from.address", content.from.address);
  if (content.reply_to !== null) assertAddress("reply_to", content.reply_to);
  for (const field of ["to", "cc", "bcc"] as const) for (const address of content[field]) assertAddress(field, address);
  assertOneLine("from.name", content.from.name);
  assertOneLine("subject", content.subject);
  for (const id of [content.in_reply_to ?? "", ...content.references]) assertOneLine("references", id);
  for (const { filename, content_type } of content.attachments) {
    assertOneLine("attachments.filename", filename);
    assertOneLine("attachments.content_type", content_type);
  }
}

const headerLine = /^([!-9;-~]+):[ \t]?/;

/** Final check of the rendered mail: only the requested headers, each once, in lines that SMTP can carry. */
export function assertHeaders(mime: Buffer, allowed: ReadonlySet<string>): void {
  const end = mime.indexOf("\r\n\r\n");
  if (end < 0) throw new Unrenderable("the mail's header section does not end");
  const seen = new Set<string>();
  for (const line of mime.toString("latin1", 0, end).split("\r\n")) {
    if (line.length > 998) throw new Unrenderable("a header has a line over 998 bytes");
    if (/^[ \t]/.test(line) && seen.size > 0) continue;
    const name = headerLine.exec(line)?.[1]?.toLowerCase();
    if (!name || !allowed.has(name) || seen.has(name))
      throw new Unrenderable(`the mail has an unexpected header line: ${name ?? "not a header"}`);
    seen.add(name);
  }
}
