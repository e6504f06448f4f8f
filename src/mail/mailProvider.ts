/** Hands mail to the delivery provider. The one rule that matters: never report "not handed over" for a mail that may have been. */

import { Unavailable } from "#src/eventStore/eventStore.ts";

/** The provider was reached and does not take our credentials: tried again by schedule, then `provider_credentials`. */
export class CredentialsRefused extends Unavailable {
  override readonly name = "CredentialsRefused";
}

/** The provider was reached and takes no more connections now: somebody else's fill it, another instance's for example. */
export class ProviderBusy extends Unavailable {
  override readonly name = "ProviderBusy";
}

/** Nobody was refused: all connections that may be open at once are taken, or the provider is `away` and somebody else finds out when it is back. */
export class NoRoom extends Unavailable {
  override readonly name = "NoRoom";
  readonly away: boolean;
  /** What the last one met who tried, where none has succeeded since. */
  readonly lastFailure: Unavailable | undefined;
  constructor(message: string, { away, lastFailure }: { away: boolean; lastFailure?: Unavailable }) {
    super(message);
    this.away = away;
    this.lastFailure = lastFailure;
  }
}

export type Envelope = { from: string; to: readonly string[] };

/**
 * What a frozen mail says, part by part, for a provider that takes no MIME: the MIME was written from the same values. Lines of `text` and `html`
 * end with LF, domains of addresses are ASCII. `headers` has all that the other fields do not say, the Message-ID included.
 */
export type Letter = {
  from: { name: string; address: string };
  to: readonly string[];
  cc: readonly string[];
  bcc: readonly string[];
  replyTo: string | null;
  subject: string;
  text: string;
  html: string | null;
  headers: Readonly<Record<string, string>>;
  /** `contentId` (without angle brackets): what the HTML shows in its place; null for a file that is attached. */
  attachments: readonly { filename: string; contentType: string; content: Buffer; contentId: string | null }[];
};

/** One frozen mail on its way out. `attemptId` is carried to the provider wherever it takes such a mark, as evidence for later. */
export type OutgoingMail = { attemptId: string; envelope: Envelope; messageId: string; mime: Buffer; letter: Letter };

/** How a hand-over ended. Everything that is not an answer after the first body byte is `unknown`. */
export type Outcome =
  | { kind: "accepted"; response: string; providerId?: string; rejectedRecipients?: string[] }
  /**
   * The provider said no: nothing will be delivered. `retryable`: the same mail may be tried again later, but not before `retryAfterSeconds`.
   * The code `provider_credentials` says that it does not let us in.
   */
  | { kind: "refused"; retryable: boolean; code: string; message: string; retryAfterSeconds?: number }
  /** Nothing of the mail was written: safe to try again. */
  | { kind: "not_handed_over"; message: string }
  /** It may have been taken or not. Never sent again by the service. */
  | { kind: "unknown"; message: string };

/** Whether the mail may still leave. Its answer may take a moment: nothing is written meanwhile. */
export type MayWrite = () => boolean | Promise<boolean>;

/** A connection that is open and ready, so that nothing slow happens between the last look at the thread and the hand-over. Good for one mail. */
export type ReadyConnection = {
  /**
   * Hands over once. `mayWrite` is asked right before the first byte of content (DATA, or the HTTP request): if it says no, or fails,
   * nothing is written and the outcome is `not_handed_over`. Never throws.
   */
  handOver(mail: OutgoingMail, mayWrite: MayWrite): Promise<Outcome>;
  /** Closes it unused. */
  discard(): void;
};

/** By what an attempt is looked for in a provider's log. `since`: it was handed over after that. */
export type AttemptToFind = { attemptId: string; recipients: readonly string[]; since: Date };

export type MailProvider = {
  readonly name: "outbox" | "smtp" | "sendgrid";
  /** It is the mailbox itself: what it takes is delivered. */
  readonly isMailbox?: true;
  /**
   * Throws Unavailable (src/eventStore/eventStore.ts) when the provider cannot be reached, its CredentialsRefused when it does not let us in.
   * A caller that `comesBack` later is told NoRoom if a place is long in coming; any other waits for one, a minute at most.
   */
  connect(caller?: { comesBack: boolean }): Promise<ReadyConnection>;
  /**
   * Resolves when a caller that was told NoRoom is to come back: as many are called as there are places, in the order of asking, and one at a time
   * while the provider is away. The promise for the same name before is forgotten.
   */
  whenRoom?(name: string): Promise<void>;
  /** From now on nobody gets a connection, and those who wait for one are told NoRoom. What is open goes on. */
  letNobodyIn?(): void;
  /** What the provider's own log says about an attempt, if it keeps one; undefined: nothing is known there (no proof of absence). */
  lookUp?(attempt: AttemptToFind): Promise<"accepted" | "refused" | undefined>;
  /** Asks only whether we are let in, where a connection alone does not show that. Throws CredentialsRefused, or Unavailable where nobody says. */
  checkCredentials?(): Promise<void>;
  close(): Promise<void>;
};
