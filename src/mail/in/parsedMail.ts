import { type MailRuns, uncheckedRuns } from "./links/tokenRuns.ts";

/** A mail as people read it. All text can be stored in JSON and PostgreSQL. */
export type ParsedMail = {
  /**
   * Whole text, quotes and signature included; rules match against it. Made from the HTML if the mail has no plain text, and from both if
   * they differ.
   */
  bodyText: string | null;
  /** HTML as received: not sanitised. */
  bodyHtml: string | null;
  /** Text without quotations and without a contact signature (quotes/parts.ts): for display only. */
  extractedText: string;
  /** Names that introduce a quotation alone ("Acme Support writes:"), which is the writer's own text unless the mail answers one by them. */
  writers: string[];
  /** Include bodies too large to be shown, as `body.txt` and `body.html`. */
  attachments: ParsedAttachment[];
  /** Sentence saying why the mail could not be read; bodies and attachments are then empty. */
  unreadable: string | null;
  /** Sentence about what was left out because it exceeds the limits; null if nothing was. */
  cut: string | null;
  /**
   * Sentences about the mail for its reader: which part of it could not be read, is encrypted or hidden, or was repaired. At most
   * `maxNotes`, each at most `maxNoteLength` UTF-16 units. They may quote the mail.
   */
  notes: string[];
  /** Possible tokens of approval links. */
  links: MailRuns;
};

export const maxNotes = 10;
export const maxNoteLength = 500;

export type ParsedAttachment = {
  filename: string | null;
  contentType: string;
  /** Without angle brackets, as in `cid:` links. */
  contentId: string | null;
  inline: boolean;
  bytes: Buffer;
};

export type ParseLimits = {
  /** HTML larger than this becomes an attachment instead of a body. */
  maxHtmlBytes: number;
  /** Text longer than this is cut; the whole of it is attached. */
  maxTextBytes: number;
  /** A mail with more attachments is not read, because one event lists all of them and an event's size is limited. */
  maxAttachments: number;
};

export const unreadableMail = (reason: string): ParsedMail => ({
  bodyText: null,
  bodyHtml: null,
  extractedText: "",
  writers: [],
  attachments: [],
  unreadable: reason,
  cut: null,
  notes: [],
  links: uncheckedRuns,
});
