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
  /** What the mail's bytes show of its author. Filing decides whose mail it is (mailKinds.ts). */
  classification: Classification;
  /** True if the mail has a sign of a program, and none of an automatic reply. Absent: false. */
  generated?: true;
  /** True if the mail is an automatic reply in case it answers a mail of ours. Absent: false. */
  automaticIfOurs?: true;
  /** Addresses that the mail was forwarded from, by header fields of servers on its way. Absent: none. */
  forwardedFrom?: string[];
  /** Form of a reaction that the mail may have: its text shows whether it is one. Absent: it is none. */
  mayReact?: "gmail" | "exchange" | "disposition";
  /** Digest that is equal for repetitions of the same message. */
  contentDigest: string;
  /** For a bounce: the Message-IDs of the mail it reports. */
  reportedMessageIds: string[];
  /** Set for a provider's report of a recipient's complaint. */
  isComplaint?: true;
  /** For a bounce: `threadIds` of the mail it reports. Absent: none. */
  reportedReferences?: string[];
  /** True if the mail is a report about a mail (a delivery report or a receipt), whatever it says. Absent: false. */
  isReport?: true;
  /** For a report: what it says of each recipient. Absent: nothing. */
  reportedRecipients?: ReportedRecipient[];
  /** Names of fields with too many addresses, of which only the first were read. Absent: none. */
  cut?: string[];
};

/** A recipient in a report about a mail, in lower case. */
export type ReportedRecipient = {
  /** The address that the mail was sent to, as far as the report names it. */
  address: string;
  /** The address that it was forwarded to, if another one. */
  final?: string;
  status: "bounced" | "delayed" | "delivered";
  /** Status code of RFC 3463, such as 5.1.1. */
  code: string | null;
  /** The server's words, on one line, at most 500 UTF-16 units. */
  text: string | null;
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
