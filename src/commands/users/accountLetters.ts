import type { LinkKind } from "#src/platform/accounts/links.ts";

/** A mail to a person about their own account. Nothing in it is a stranger's word: who asks for it may be anybody. */
export type AccountLetter = {
  to: string;
  subject: string;
  /** Sentences, one a paragraph. */
  lead: readonly string[];
  /** The one link. */
  button?: { label: string; url: string };
  facts: readonly string[];
};

/**
 * The way out for mail about accounts. It waits for nobody else's mail and no workspace can stop it; what bounds it is a measure of its own by
 * mailbox, in which the place is taken while the person waits.
 */
export type AccountMail = {
  /**
   * Takes a place for one mail of this kind to this mailbox. Each kind has its own: strangers who ask to sign up with an address keep nobody from a
   * new password. Throws Rejected rate_limited when the hour's are taken; the same for every address.
   */
  admit(kind: LinkKind, address: string): Promise<void>;
  /**
   * Writes the letter and hands it over behind the caller's back, so that an answer takes no longer where there is something to write. What does
   * not leave is tried again twice, then a warning says so.
   */
  later(write: () => Promise<AccountLetter | undefined>): void;
  /** Waits for what is on its way; gives up what would be tried later. */
  close(): Promise<void>;
};
