import type { LinkKind } from "#src/platform/accounts/links.ts";

/** A mail to a person about their own account. It contains no text by others, because anyone may have requested it. */
export type AccountLetter = {
  to: string;
  subject: string;
  /** Sentences, one per paragraph. */
  lead: readonly string[];
  /** The single link. */
  button?: { label: string; url: string };
  facts: readonly string[];
};

/**
 * Sends mail about accounts. It does not wait for other mail, and no workspace can stop it; it has its own quota
 * per mailbox, taken while the person waits.
 */
export type AccountMail = {
  /**
   * Takes quota for one mail of this kind to this mailbox. Each kind has its own: a stranger requesting sign-ups with an address cannot
   * prevent its password reset. Throws Rejected rate_limited when the hour's quota is used up; the same for every address.
   */
  admit(kind: LinkKind, address: string): Promise<void>;
  /**
   * Writes and sends the letter in the background, so that response times do not reveal if there is one. A letter that was not sent is
   * tried twice more, then a warning is logged.
   */
  later(write: () => Promise<AccountLetter | undefined>): void;
  /** Waits for mail being sent; drops retries. */
  close(): Promise<void>;
};
