/**
 * Exactly what would be sent, in the names of the contract (spec: decisions 3), so that the object that is hashed, shown, stored and
 * answered by `GET /v1/drafts/{id}/content` is one and the same. Absent values are null or [].
 */
export type DraftContent = {
  from: { name: string; address: string };
  reply_to: string | null;
  to: string[];
  cc: string[];
  bcc: string[];
  subject: string;
  body_text: string | null;
  body_html: string | null;
  signature_text: string | null;
  signature_html: string | null;
  /** Message-IDs with their angle brackets. */
  in_reply_to: string | null;
  references: string[];
  attachments: { filename: string; content_type: string; sha256: string }[];
};
