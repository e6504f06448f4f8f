/**
 * Exactly what would be sent, in the names of the wire, so that the object that is hashed, shown, stored and
 * answered by `GET /v1/drafts/{id}/content` is one and the same. Absent values are null or [].
 */
export type DraftContent = {
  from: { name: string; address: string };
  reply_to: string | null;
  to: string[];
  cc: string[];
  bcc: string[];
  subject: string;
  body_text: string;
  body_html: string | null;
  signature_text: string | null;
  signature_html: string | null;
  /** Message-IDs with their angle brackets. */
  in_reply_to: string | null;
  references: string[];
  attachments: { filename: string; content_type: string; sha256: string }[];
};

/** What was taken out of HTML when it was reduced to what can be shown: `element:NAME`, `attribute:NAME`, `style:PROPERTY`, `comment`, `image:remote` or `link:SCHEME`. */
export type HtmlRemoved = { what: string; count: number };

/** A picture among a draft's attachments that its body may show. `contentId`: as its author names it; null for one that came inside the body. */
export type Picture = { contentId: string | null; sha256: string };

/** How a content came to be what it is. */
export type Making = {
  /** What the body's HTML lost when it was reduced. */
  htmlRemoved: HtmlRemoved[];
  /** The text part was made from the HTML: its author gave none. */
  textDerived?: true;
  pictures?: Picture[];
};
