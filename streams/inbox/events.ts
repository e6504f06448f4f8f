import type { Event } from "../event.ts";

/** What an inbound mail says about itself, read from its raw headers. Message-IDs keep their angle brackets. */
export type MailHeaders = {
  messageId: string;
  /** True if the mail had no usable Message-ID and one was derived from its bytes. */
  messageIdDerived: boolean;
  /** The ids it names as its thread: all of References, else the last of In-Reply-To. */
  threadIds: string[];
  inReplyTo: string | null;
  references: string[];
  from: { name: string; address: string } | null;
  /** More than one From is a forgery's mark: such a mail proves nothing. */
  fromCount: number;
  replyTo: string[];
  to: string[];
  cc: string[];
  subject: string;
  date: string | null;
  classification: Classification;
  /** Equal for "the same message again". */
  contentDigest: string;
  /** In a bounce: the Message-IDs of the mail it reports. */
  reportedMessageIds: string[];
  /** A provider's report that a recipient complains. Absent: it is none. */
  isComplaint?: true;
  /** In a bounce: what the mail it reports named as its thread (as `threadIds`). Absent: nothing. */
  reportedReferences?: string[];
  /** Fields with more addresses than are read, of which only the first part was. Absent: none. */
  cut?: string[];
};

export type Classification = "person" | "auto_reply" | "bounce" | "list";

/** Appended before the sender is answered 250: from here on the mail cannot be lost. */
export type InboxEvent = Event<
  "MailReceived",
  {
    deliveryId: string;
    workspaceId: string;
    identityId: string;
    envelope: { from: string; to: string };
    /** `relay`: the address is that of the operator's own relay, which did not say who its client was. */
    remote: { ip: string; helo: string; relay?: true };
    rawSha256: string;
    sizeBytes: number;
    headers: MailHeaders;
  }
>;

export const inboxStream = (identityId: string): string => `inbox-${identityId}`;
