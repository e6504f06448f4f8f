import type { Event } from "../event.ts";

/** Headers of an inbound mail, read from its raw bytes. Message-IDs keep their angle brackets. */
export type MailHeaders = {
  messageId: string;
  /** True if the mail had no usable Message-ID and one was derived from its bytes. */
  messageIdDerived: boolean;
  /** Message-IDs of its thread: all of References, else the last of In-Reply-To. */
  threadIds: string[];
  inReplyTo: string | null;
  references: string[];
  from: { name: string; address: string } | null;
  /** Number of From addresses: more than one is a sign of forgery, and such a mail proves nothing. */
  fromCount: number;
  replyTo: string[];
  to: string[];
  cc: string[];
  subject: string;
  date: string | null;
  classification: Classification;
  /** Digest that is equal for repetitions of the same message. */
  contentDigest: string;
  /** For a bounce: the Message-IDs of the mail it reports. */
  reportedMessageIds: string[];
  /** Set for a provider's report of a recipient's complaint. */
  isComplaint?: true;
  /** For a bounce: `threadIds` of the mail it reports. Absent: none. */
  reportedReferences?: string[];
  /** Names of fields with too many addresses, of which only the first were read. Absent: none. */
  cut?: string[];
};

export type Classification = "person" | "auto_reply" | "bounce" | "list";

/** Appended before the sender gets the answer 250: from then on the mail cannot be lost. */
export type InboxEvent = Event<
  "MailReceived",
  {
    deliveryId: string;
    workspaceId: string;
    identityId: string;
    envelope: { from: string; to: string };
    /** `relay`: the address is the operator's own relay, which did not reveal its client. */
    remote: { ip: string; helo: string; relay?: true };
    rawSha256: string;
    sizeBytes: number;
    headers: MailHeaders;
  }
>;

export const inboxStream = (identityId: string): string => `inbox-${identityId}`;
