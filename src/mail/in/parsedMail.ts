import { type MailRuns, uncheckedRuns } from "./links/tokenRuns.ts";

/** A mail as people read it. Everything is text that JSON and PostgreSQL can hold. */
export type ParsedMail = {
  /** The whole text, quotes and signature included: what rules read. Made from the HTML if the mail has no text of its own, and of both if they differ. */
  bodyText: string | null;
  /** The HTML as it arrived: not sanitised. */
  bodyHtml: string | null;
  /** The text without what has a mark of quotation and without a signature of contact details (quotes/parts.ts): a view only. */
  extractedText: string;
  /** Bodies too large to be shown are among them, as `body.txt` and `body.html`. */
  attachments: ParsedAttachment[];
  /** Why it could not be read, in one sentence; then there are no bodies and no attachments. */
  unreadable: string | null;
  /** What was left out because it is more than can be read, in one sentence; null if nothing was. */
  cut: string | null;
  /**
   * Sentences for a reader of the mail, which is their subject: what of it could not be read, is encrypted or hidden, or was repaired. At most `maxNotes`, of at most `maxNoteLength` UTF-16 units each. They may quote the mail.
   */
  notes: string[];
  /** What may be the token of an approval link. */
  links: MailRuns;
};

export const maxNotes = 10;
export const maxNoteLength = 500;

export type ParsedAttachment = {
  filename: string | null;
  contentType: string;
  /** Without angle brackets, as `cid:` links name it. */
  contentId: string | null;
  inline: boolean;
  bytes: Buffer;
};

export type ParseLimits = {
  /** HTML above this is an attachment instead of a body. */
  maxHtmlBytes: number;
  /** Text above this is cut, with the whole of it as an attachment. */
  maxTextBytes: number;
  /** A mail with more is not read: all of them are listed in one event, whose size is limited. */
  maxAttachments: number;
};

export const unreadableMail = (reason: string): ParsedMail => ({
  bodyText: null,
  bodyHtml: null,
  extractedText: "",
  attachments: [],
  unreadable: reason,
  cut: null,
  notes: [],
  links: uncheckedRuns,
});
