/**
 * Content exactly as it would be sent, in the names of the wire, so that the object that is hashed, shown, stored and returned by `GET
 * /v1/drafts/{id}/content` is one and the same. Absent values are null or [].
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

/**
 * A part removed from HTML when it was reduced to what can be shown: `element:NAME`, `attribute:NAME`, `style:PROPERTY`, `comment`,
 * `image:remote` or `link:SCHEME`.
 */
export type HtmlRemoved = { what: string; count: number };

/**
 * A picture among a draft's attachments that its body may show. `contentId`: the author's name for it; null for one embedded in the body.
 */
export type Picture = { contentId: string | null; sha256: string };

/** Origin of a content. */
export type ContentOrigin = {
  /** Parts removed from the body's HTML. */
  htmlRemoved: HtmlRemoved[];
  /** True if the text part was derived from the HTML because the author gave none. */
  textDerived?: true;
  pictures?: Picture[];
};
