import { createHash } from "node:crypto";
import canonicalize from "canonicalize";
import type { DraftContent } from "#streams/draft/content.ts";

/** Serialises to RFC 8785 canonical JSON. Throws on values that JSON cannot hold (lone surrogates, NaN). */
export function canonicalJson(value: unknown): string {
  const json = canonicalize(value);
  if (json === undefined) throw new TypeError("there is no JSON of this value");
  return json;
}

// Properties are listed one by one: an object's other properties are not sent, so they are not hashed.
const asSent = (content: DraftContent): DraftContent => ({
  from: { name: content.from.name, address: content.from.address },
  reply_to: content.reply_to,
  to: content.to,
  cc: content.cc,
  bcc: content.bcc,
  subject: content.subject,
  body_text: content.body_text,
  body_html: content.body_html,
  signature_text: content.signature_text,
  signature_html: content.signature_html,
  in_reply_to: content.in_reply_to,
  references: content.references,
  attachments: content.attachments.map(({ filename, content_type, sha256 }) => ({ filename, content_type, sha256 })),
});

/** Returns the canonical JSON of exactly what would be sent. */
export const contentJson = (content: DraftContent): string => canonicalJson(asSent(content));

/** sha256 (lower-case hex) over the canonical JSON of exactly what would be sent. */
export const contentSha256 = (content: DraftContent): string =>
  createHash("sha256").update(contentJson(content)).digest("hex");
