/** Hands mail to the delivery provider. The one rule that matters: never report "not handed over" for a mail that may have been. */

import { Unavailable } from "#src/eventStore/eventStore.ts";

/** The provider was reached and refuses our credentials: retried by schedule, then `provider_credentials`. */
export class CredentialsRefused extends Unavailable {
  override readonly name = "CredentialsRefused";
}

/** No connection to the provider came about. The message says why, and which setting helps. */
export class NotConnected extends Unavailable {
  override readonly name = "NotConnected";
  /** Names the cause without the provider's words, which may differ at every try. */
  readonly kind: string;
  /** True if only the operator can end it, by a setting or at the provider. */
  readonly lasts: boolean;
  constructor(message: string, { kind, lasts }: { kind: string; lasts: boolean }) {
    super(message);
    this.kind = kind;
    this.lasts = lasts;
  }
}

/** The provider was reached and accepts no more connections now: other clients use them all, another instance for example. */
export class ProviderBusy extends Unavailable {
  override readonly name = "ProviderBusy";
}

/** No place for a connection: all that may be open at once are in use, or the provider is `away` and another caller is probing it. */
export class NoRoom extends Unavailable {
  override readonly name = "NoRoom";
  readonly away: boolean;
  /** Error of the last attempt to connect, if none has succeeded since. */
  readonly lastFailure: Unavailable | undefined;
  constructor(message: string, { away, lastFailure }: { away: boolean; lastFailure?: Unavailable }) {
    super(message);
    this.away = away;
    this.lastFailure = lastFailure;
  }
}

export type Envelope = { from: string; to: readonly string[] };

/**
 * The content of a frozen mail, part by part, for a provider that takes no MIME: the MIME was written from the same values. Lines of
 * `text` and `html` end with LF, domains of addresses are ASCII. `headers` has everything that the other fields do not, including the
 * Message-ID.
 */
export type MailParts = {
  from: { name: string; address: string };
  to: readonly string[];
  cc: readonly string[];
  bcc: readonly string[];
  replyTo: string | null;
  subject: string;
  text: string;
  html: string | null;
  headers: Readonly<Record<string, string>>;
  /** `contentId` (without angle brackets): where the HTML shows the file; null for an attachment. */
  attachments: readonly { filename: string; contentType: string; content: Buffer; contentId: string | null }[];
};

/** One frozen mail to be handed over. `attemptId` is passed to providers that accept such a mark, as evidence for later. */
export type OutgoingMail = {
  attemptId: string;
  envelope: Envelope;
  messageId: string;
  mime: Buffer;
  letter: MailParts;
};

/** Result of a hand-over. Once the first body byte is written, the result is `unknown` unless the provider answers. */
export type HandOverOutcome =
  | { kind: "accepted"; response: string; providerId?: string; rejectedRecipients?: string[] }
  /**
   * The provider refused: nothing will be delivered. `retryable`: the same mail may be tried again, but not before `retryAfterSeconds`.
   * The code `provider_credentials` means that it refuses our credentials.
   */
  | { kind: "refused"; retryable: boolean; code: string; message: string; retryAfterSeconds?: number }
  /** The mail was not written, not even in part: a retry is safe. */
  | { kind: "not_handed_over"; message: string }
  /** The provider may have accepted it or not. The service never sends it again. */
  | { kind: "unknown"; message: string };

/** Returns true if the mail may still be sent. The check may take a moment, in which nothing is written. */
export type MayStillSend = () => boolean | Promise<boolean>;

/**
 * An open, authenticated connection, so that nothing slow happens between the last check of the thread and the hand-over. Each connection
 * is used for one mail.
 */
export type ReadyConnection = {
  /**
   * Hands over once. `mayWrite` is called right before the first byte of content (DATA, or the HTTP request): if it returns false or
   * fails, nothing is written and the outcome is `not_handed_over`. Never throws.
   */
  handOver(mail: OutgoingMail, mayWrite: MayStillSend): Promise<HandOverOutcome>;
  /** Closes the connection unused. */
  discard(): void;
};

/** Facts by which an attempt is looked up in a provider's log. `since`: a time before the hand-over. */
export type AttemptToFind = { attemptId: string; recipients: readonly string[]; since: Date };

export type MailProvider = {
  readonly name: "outbox" | "smtp" | "sendgrid";
  /** The provider is the mailbox itself: accepted mail is delivered. */
  readonly isMailbox?: true;
  /**
   * Throws Unavailable (src/eventStore/eventStore.ts) if the provider cannot be reached, its CredentialsRefused if it refuses our
   * credentials. A caller with `comesBack` gets NoRoom if a place takes long to become free; any other waits for one, for at most a
   * minute.
   */
  connect(caller?: { comesBack: boolean }): Promise<ReadyConnection>;
  /**
   * Resolves when a caller that got NoRoom should retry: as many callers resume as there are places, in order of asking, and one at a
   * time while the provider is away. Replaces an earlier promise for the same name.
   */
  whenRoom?(name: string): Promise<void>;
  /** Opens no more connections: callers that wait get NoRoom. Open connections continue. */
  letNobodyIn?(): void;
  /**
   * Looks up an attempt in the provider's log, if the provider has one; undefined: no entry (which does not prove that the mail was not
   * sent).
   */
  lookUp?(attempt: AttemptToFind): Promise<"accepted" | "refused" | undefined>;
  /**
   * Checks only our credentials, for providers where connecting does not show that. Throws CredentialsRefused, or Unavailable if there is
   * no answer.
   */
  checkCredentials?(): Promise<void>;
  close(): Promise<void>;
};
