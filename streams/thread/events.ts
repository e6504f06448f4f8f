import type { Event } from "../event.ts";
import type { Classification } from "../inbox/events.ts";
import type { MailKind } from "../inbox/mailKinds.ts";

export type ThreadStatus = "open" | "waiting" | "draft_pending" | "closed";
export type Priority = "low" | "normal" | "high" | "urgent";
/** Noted status of a draft. It does not change while the draft is being sent: its claim shows that. */
export type NotedDraftStatus = "pending" | "approved" | "closed" | "sent";
/** `revision`: the draft's own at that time; an older note changes nothing. */
export type NotedDraft = { status: NotedDraftStatus; revision: number };

/** Participants recorded, at most; mail from further senders sets needs_review. The list must fit into the event of a merge. */
export const maxParticipants = 400;

/** A mail's readable content. If it exceeds the event limit, the blob store has the JSON of the same object. */
export type MessageBody = { text: string | null; html: string | null; extracted: string };

export type MessageAttachment = {
  id: string;
  filename: string;
  contentType: string;
  sizeBytes: number;
  contentId: string | null;
  inline: boolean;
  sha256: string;
};

export type InboundMessage = {
  identityId: string;
  messageId: string;
  deliveryId: string;
  /** The mail's revision in inbox-<identity>, which contains its envelope. */
  inboxRevision: number;
  /** The filing number (streams/filing): newer mail has a higher one. */
  number: number;
  receivedAt: string;
  rfcMessageId: string;
  inReplyTo: string | null;
  references: string[];
  from: { name: string; address: string } | null;
  replyTo: string[];
  to: string[];
  cc: string[];
  subject: string;
  classification: Classification;
  /** Whose mail it is. Absent: as the class says (inbox/mailKinds.ts). */
  kind?: MailKind;
  /** The other identity of the workspace that sent it, proved by its Message-ID. */
  sentBy?: string;
  rawSha256: string;
  body: MessageBody | null;
  /** Blob with the body's JSON, if it is too large for an event. `body` is then empty. */
  bodyBlob: string | null;
  /** Searchable text of a body that is in a blob; null if the event itself has the body. */
  searchText: string | null;
  attachments: MessageAttachment[];
  /** True if the mail could not be read: only its headers are shown. */
  quarantined: boolean;
  /** Set if its sender was blocked when it arrived: it is stored, and triggers nothing. */
  fromBlockedContact?: true;
  /**
   * `removed`: approval links were removed here, or the mail had more possible links than are looked up; the raw mail still has them.
   * `unchecked`: part of the mail could not be searched. Absent: the mail had no approval link.
   */
  approvalLinks?: "removed" | "unchecked";
  /** Addresses, in lower case, from which it was forwarded here, by header fields of servers on its way. Absent: none. */
  forwardedFrom?: string[];
  /** Sentences about parts of the mail that could not be read, are encrypted or hidden, or were repaired. Absent: none. */
  notes?: string[];
};

/**
 * A held mail: the customer's newer message, not shown before its release. `MessageReceived` with the same id and a higher number is its
 * release.
 */
export type HeldMessage = {
  identityId: string;
  messageId: string;
  deliveryId: string;
  /** Filing number of the marker. */
  number: number;
  receivedAt: string;
  classification: Classification;
  /** As in InboundMessage. */
  kind?: MailKind;
  from: { name: string; address: string } | null;
  /** True if the thread has nothing else yet: it is not shown either. */
  opensThread: boolean;
};

/** The right to hand over one draft once, recorded on the stream that also records the customer's mail. */
export type SendClaim = {
  draftId: string;
  version: number;
  contentSha256: string;
  attemptId: string;
  quotaStream: string;
  /** For a reply to a machine: its recipients' addresses, in lower case. */
  machineAddresses?: string[];
};

export type AuthenticationResult = "pass" | "fail" | "none" | "neutral" | "softfail" | "temperror" | "permerror";

/** Result of a mail's sender authentication. `aligned`: the address in From is proven. */
export type Authentication = {
  spf: AuthenticationResult;
  dkim: AuthenticationResult;
  dmarc: AuthenticationResult;
  aligned: boolean;
  /** Result of ARC. It is recorded, and never used as a proof. */
  arc: "pass" | "fail" | "none";
  /** Address fields, besides From, of which an aligned signature covers every occurrence. Absent: none. */
  covers?: ("to" | "cc" | "reply_to")[];
};

export type ContactStatus = "unknown" | "trusted" | "blocked";

/** Number of a part, from 1, and of all parts. */
export type AbsorbedPart = { n: number; of: number };

/** Location of a mail in the log, which never changes: its `MessageReceived`, on the thread that it was filed on. */
export type MessagePlace = { threadId: string; revision: number };

export type NewestHumanMessage = { messageId: string; number: number };

export type ThreadEvent =
  | Event<
      "ThreadOpened",
      {
        workspaceId: string;
        identityId: string;
        subject: string;
        contactEmail: string | null;
        contactId: string | null;
        /** If a mail of ours opens the thread: its kind and recipients. */
        openedBy?: "send" | "test_email";
        recipients?: string[];
      }
    >
  | Event<"MessageReceived", InboundMessage>
  | Event<"MessageHeld", HeldMessage>
  /**
   * Authentication of a mail's sender, after its filing. `email.received` and its rules follow, unless the mail is a machine's or a blocked
   * contact's.
   */
  | Event<
      "MessageAuthenticated",
      {
        messageId: string;
        /** Filing number of the message. */
        number: number;
        identityId: string;
        classification: Classification;
        /** As in InboundMessage. */
        kind?: MailKind;
        fromEmail: string | null;
        subject: string;
        contactId: string | null;
        /** The contact's status at that time. */
        contactStatus: ContactStatus;
        authentication: Authentication;
        /** Set if the sender's address is an identity's of this workspace; `authentication` says whether that is proven. */
        fromWorkspace?: true;
        /** Location of the mail itself. */
        received: MessagePlace;
      }
    >
  /** A reaction to a mail of ours (`messageId`). It is no message, and changes nothing else. `number`: its filing number. */
  | Event<
      "ReactionReceived",
      {
        identityId: string;
        messageId: string;
        deliveryId: string;
        number: number;
        emoji: string;
        from: string;
        at: string;
      }
    >
  /**
   * A person filed a message that is not the customer's word, such as an automatic reply, as one. Its authentication follows again, and
   * with it `email.received`. `received`: location of the mail itself.
   */
  | Event<"MessageFiledByHand", { messageId: string; number: number; identityId: string; received: MessagePlace }>
  | Event<"MessageSent", { draftId: string; attemptId: string; messageId: string; rfcMessageId: string; to: string[] }>
  /** `once`: name of the change, if it may be repeated and must not be made twice. */
  | Event<"ThreadStatusChanged", { status: ThreadStatus; because: string; once?: string }>
  /** `once`: as above. */
  | Event<"ThreadReviewSet", { needsReview: boolean; reason: string | null; once?: string }>
  /** `once`: as above. */
  | Event<"ThreadPrioritySet", { priority: Priority; once?: string }>
  | Event<"DraftNoted", { draftId: string } & NotedDraft>
  | Event<"SendClaimed", SendClaim & { replaces: string | null }>
  | Event<"SendClaimReleased", { draftId: string; attemptId: string; because: string }>
  /** From now on this thread only points to the survivor, where everything else happens. `number`: the filing that merged them. */
  | Event<"ThreadFrozen", { survivorId: string; number: number }>
  /**
   * Data that the survivor needs of the absorbed thread to check sends for both. Data too large for one event are divided into parts: until
   * the last one nothing is sent from the survivor.
   */
  | Event<
      "ThreadAbsorbed",
      {
        absorbedId: string;
        number: number;
        newestNumber: number;
        newestWord: NewestHumanMessage | null;
        participants: string[];
        /** Open drafts, and those that closed last. */
        drafts: Record<string, NotedDraft>;
        claims: SendClaim[];
        needsReview: boolean;
        /** Filing numbers of its mails whose authentication is outstanding. */
        unauthenticated: number[];
        /** Addresses of answered machines, by draft. */
        machineAnswers: Record<string, string[]>;
        /** The newest replies on the absorbed thread. */
        answers: { draftId: string; after: number }[];
        part: AbsorbedPart;
      }
    >;

export const threadStream = (id: string): string => `thread-${id}`;
