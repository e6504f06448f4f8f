import type { LinkKind } from "#src/platform/accounts/links.ts";

/** A mail to a person about their own account. It contains no text by users, because anyone may have requested the mail. */
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
 * Sends mail about accounts. This mail does not wait for other mail, and no workspace can stop it. It has its own quota per mailbox, which
 * is taken while the person waits for the response.
 */
export type AccountMail = {
  /**
   * Takes quota for one mail of this kind to this mailbox. Each kind has its own quota, so that a stranger who requests sign-ups with an
   * address cannot prevent that address's password reset. Throws Rejected rate_limited if the quota of the hour is used up, whether or not
   * the address has an account.
   */
  admit(kind: LinkKind, address: string): Promise<void>;
  /**
   * Writes and sends the letter in the background, so that the response time does not reveal if a letter is sent. If sending fails, it is
   * tried twice more; then a warning is logged.
   */
  later(write: () => Promise<AccountLetter | undefined>): void;
  /** Waits for mail that is being sent. Drops waiting retries. */
  close(): Promise<void>;
};
