import type { Event } from "../event.ts";

export type Disposition = "threaded" | "duplicate" | "held_over_quota" | "held_identity_disabled" | "quarantined";

/**
 * Where a received mail belongs. Recorded before it is carried out, so that every run that carries it out does the same.
 * `number` rises by one with each decision of an identity; a thread refuses numbers not above its newest.
 */
export type FilingDecision = {
  number: number;
  deliveryId: string;
  /** The mail's revision in inbox-<identity>, and its position in the log. */
  inboxRevision: number;
  inboxPosition: number;
  disposition: Disposition;
  /** Why it was not simply threaded, in words; null otherwise. */
  reason: string | null;
  /** The message as it is, or for a duplicate the one stored earlier. */
  messageId: string;
  threadId: string;
  opensThread: boolean;
  /** Threads that this mail joins to `threadId`, oldest first. */
  absorbs: string[];
  /** Every Message-ID that belongs to the thread from now on: the mail's own first, then those it names. */
  chainIds: string[];
  rfcMessageId: string;
  contentDigest: string;
  /** Why a person should look at the thread; null if nobody needs to. */
  reviewReason: string | null;
  /**
   * If this releases a held mail: the number of its first, contentless filing, and where that lies in this stream. The message keeps its id, and
   * counts as newer by its new number. Absent everywhere else.
   */
  releases?: { number: number; revision: number };
  /** A provider's report that a recipient complains. Absent: it is none. */
  isComplaint?: true;
  /** In a bounce or a complaint: the attempt of the mail of ours that it reports. */
  bouncedAttemptId: string | null;
};

/**
 * What ends the content of a mail: it was kept, unreleased or unread, for as many whole days as the operator allows. Its entry in the ledger
 * stays, and so does all that was told of it elsewhere.
 */
export type MailExpiry = {
  /** Under which number it was filed. */
  number: number;
  /** The delivery that was filed, then the repeated deliveries of the same mail: the content of all of them goes. */
  deliveryIds: string[];
  afterDays: number;
};

/** `markerRevision`: where its filing lies in this stream. What is still held lies behind it. */
export type HeldMailExpiry = MailExpiry & { markerRevision: number };

export type FilingEvent =
  | Event<"FilingDecided", FilingDecision>
  /** Everything decided up to this number, and received up to this inbox revision, is in its thread. */
  | Event<"MailFiled", { number: number; inboxRevision: number }>
  /**
   * What was decided under this number cannot be recorded as it is. The mail is filed by a marker that always fits: its sender, its subject and
   * `reason`, no content. `threadId`: a new thread of its own, because the one that was decided does not take even that; null: it does.
   */
  | Event<"MailQuarantined", { number: number; deliveryId: string; reason: string; threadId: string | null }>
  /** A held mail is not released any more. Its marker stays on its thread: it was the customer's newer word, and drafts stay stale. */
  | Event<"HeldMailExpired", HeldMailExpiry>
  /** A quarantined mail keeps what its thread shows of it: its headers. */
  | Event<"QuarantinedMailExpired", MailExpiry>;

export const filingStream = (identityId: string): string => `filing-${identityId}`;
