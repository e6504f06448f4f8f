import type { Event } from "../event.ts";
import type { Classification } from "../inbox/events.ts";
import type { MailKind } from "../inbox/mailKinds.ts";

/** `own_copy`, `reaction`: see inbox/mailKinds.ts; these, and a duplicate, are no messages. */
export type Disposition =
  | "threaded"
  | "duplicate"
  | "own_copy"
  | "reaction"
  | "held_over_quota"
  | "held_identity_disabled"
  | "quarantined";

/** Review reason of a colleague's mail that is addressed to identities of the workspace alone. Stored: it never changes. */
export const handOverReason = "another address of the workspace handed it over";

/**
 * Decision where a received mail belongs. Recorded before it is carried out, so that every run carries out the same one. `number` rises by
 * one with each decision of an identity; a thread refuses numbers not above its newest.
 */
export type FilingDecision = {
  number: number;
  deliveryId: string;
  /** The mail's revision in inbox-<identity>, and its position in the log. */
  inboxRevision: number;
  inboxPosition: number;
  disposition: Disposition;
  /** Reason why it was not simply threaded; null otherwise. */
  reason: string | null;
  /**
   * Id of the message; for a duplicate that of the message stored earlier, for a copy of ours and a reaction that of our own message.
   */
  messageId: string;
  /** Whose mail it is. Absent: as the class says (inbox/mailKinds.ts). */
  kind?: MailKind;
  /** Class of the mail if filing found another one than its bytes show (MailHeaders). */
  classification?: Classification;
  /** The other identity of the workspace that sent it, proved by its Message-ID. */
  sentBy?: string;
  /** If it is a reaction: its sign. */
  emoji?: string;
  /** Set if a person filed a mail as a message that filing had put aside. */
  byHand?: true;
  threadId: string;
  opensThread: boolean;
  /** Threads that this mail merges into `threadId`, oldest first. */
  absorbs: string[];
  /** Every Message-ID that belongs to the thread from now on: first the mail's own, then the ids that the mail references. */
  chainIds: string[];
  rfcMessageId: string;
  contentDigest: string;
  /** Reason why a person should review the thread; null if none. */
  reviewReason: string | null;
  /**
   * If this releases a held mail: number and revision of its first filing, without content, in this stream. The message keeps its id, and
   * counts as newer by its new number. Absent otherwise.
   */
  releases?: { number: number; revision: number };
  /** Set for a provider's report of a recipient's complaint. */
  isComplaint?: true;
  /** For a report: the attempt of our mail that it reports. */
  bouncedAttemptId: string | null;
};

/**
 * Expiry of a mail's content, which was stored, unreleased or unread, for as many whole days as the operator allows. Its entry in the
 * ledger stays, as do copies of its data elsewhere.
 */
export type MailExpiry = {
  /** Number under which it was filed. */
  number: number;
  /** The delivery that was filed, then the repeated deliveries of the same mail: the content of all of them expires. */
  deliveryIds: string[];
  afterDays: number;
};

/** `markerRevision`: revision of its filing in this stream. Mail still held has higher revisions. */
export type HeldMailExpiry = MailExpiry & { markerRevision: number };

export type FilingEvent =
  | Event<"FilingDecided", FilingDecision>
  /** Everything decided up to this number, and received up to this inbox revision, is on its thread. */
  | Event<"MailFiled", { number: number; inboxRevision: number }>
  /**
   * The decision of this number cannot be recorded as it is. The mail is filed by a marker that always fits: its sender, its subject and
   * `reason`, no content. `threadId`: a new thread for it, because the decided one does not accept even the marker; null if it does.
   */
  | Event<"MailQuarantined", { number: number; deliveryId: string; reason: string; threadId: string | null }>
  /**
   * A held mail expired and cannot be released any more. Its marker stays on its thread: it was the customer's newer message, and drafts
   * stay stale.
   */
  | Event<"HeldMailExpired", HeldMailExpiry>
  /** A quarantined mail expired; its thread still shows its headers. */
  | Event<"QuarantinedMailExpired", MailExpiry>;

export const filingStream = (identityId: string): string => `filing-${identityId}`;
