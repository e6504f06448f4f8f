import type { Event } from "../event.ts";
import type { Classification } from "../inbox/events.ts";

export type ThreadStatus = "open" | "waiting" | "draft_pending" | "closed";
export type Priority = "low" | "normal" | "high" | "urgent";
/** A draft's state, as far as its thread needs it. */
/** The status of a draft that is being sent stays what it was: its claim says that it is on its way. */
export type NotedDraftStatus = "pending" | "approved" | "closed" | "sent";
/** `revision` is the draft's own at that moment: an older note changes nothing. */
export type NotedDraft = { status: NotedDraftStatus; revision: number };

/** Senders beyond this number are not recorded as participants, and their mail sets needs_review: the list has to fit into the event of a merge. */
export const maxParticipants = 400;

/** A mail's readable content. Over the event limit it lies in the blob store as the JSON of the same object. */
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
  /** The mail's revision in inbox-<identity>, which has its envelope. */
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
  rawSha256: string;
  body: MessageBody | null;
  /** If the body is too large for an event: the blob with its JSON. `body` is then empty. */
  bodyBlob: string | null;
  /** What full-text search finds of a body that lies in a blob; null if the event itself has the body. */
  searchText: string | null;
  attachments: MessageAttachment[];
  /** What could not be read is shown by its headers alone. */
  quarantined: boolean;
  /** Its sender was blocked when it came: it is kept, and sets nothing in motion. */
  fromBlockedContact?: true;
  /**
   * `removed`: it had links by which approvers decide, or more that might be one than are looked up; what is here has none, and the mail as it
   * came still has. `unchecked`: not all of it could be looked through. Absent: it had none.
   */
  approvalLinks?: "removed" | "unchecked";
  /** Sentences about what of the mail could not be read, is encrypted or hidden, or was repaired. Absent: there are none. */
  notes?: string[];
};

/**
 * A mail that is held: the customer's newer word, of which nothing is shown before it is released. `MessageReceived` with the same id and a
 * higher number is its release.
 */
export type HeldMessage = {
  identityId: string;
  messageId: string;
  deliveryId: string;
  /** Its filing number as a marker. */
  number: number;
  receivedAt: string;
  classification: Classification;
  from: { name: string; address: string } | null;
  /** Nothing else is on the thread yet: it is not to be seen either. */
  opensThread: boolean;
};

/** A right to hand one draft over once, recorded where the customer's mail is recorded too. */
export type SendClaim = {
  draftId: string;
  version: number;
  contentSha256: string;
  attemptId: string;
  quotaStream: string;
  /** If it answers a machine: the addresses it goes to, in lower case. */
  machineAddresses?: string[];
};

export type AuthenticationResult = "pass" | "fail" | "none" | "neutral" | "softfail" | "temperror" | "permerror";

/** What was found out about a mail's sender. `aligned`: the address in From is proven. */
export type Authentication = {
  spf: AuthenticationResult;
  dkim: AuthenticationResult;
  dmarc: AuthenticationResult;
  aligned: boolean;
  /** Result of ARC. It is recorded, and never used as a proof. */
  arc: "pass" | "fail" | "none";
  /** Address fields that an aligned signature covers beside From, each as often as it occurs. Absent: none. */
  covers?: ("to" | "cc" | "reply_to")[];
};

export type ContactStatus = "unknown" | "trusted" | "blocked";

/** Which part of how many, from 1. */
export type AbsorbedPart = { n: number; of: number };

/** Where a mail is in the log, which never changes: its `MessageReceived`, on the thread that it was filed on. */
export type MessagePlace = { threadId: string; revision: number };

export type NewestWord = { messageId: string; number: number };

export type ThreadEvent =
  | Event<
      "ThreadOpened",
      {
        workspaceId: string;
        identityId: string;
        subject: string;
        contactEmail: string | null;
        contactId: string | null;
        /** If a mail of ours opens the thread: why, and who it goes to. */
        openedBy?: "send" | "test_email";
        recipients?: string[];
      }
    >
  | Event<"MessageReceived", InboundMessage>
  | Event<"MessageHeld", HeldMessage>
  /** Comes after the filing: what a mail is worth as a proof. `email.received` and its rules follow it, unless it is a machine's or a blocked contact's. */
  | Event<
      "MessageAuthenticated",
      {
        messageId: string;
        /** Its filing number. */
        number: number;
        identityId: string;
        classification: Classification;
        fromEmail: string | null;
        subject: string;
        contactId: string | null;
        /** The contact's state at that moment. */
        contactStatus: ContactStatus;
        authentication: Authentication;
        /** Where the mail itself is. */
        received: MessagePlace;
      }
    >
  | Event<"MessageSent", { draftId: string; attemptId: string; messageId: string; rfcMessageId: string; to: string[] }>
  /** `once`: names the change that made it, where that may be asked for again and must not be made twice. */
  | Event<"ThreadStatusChanged", { status: ThreadStatus; because: string; once?: string }>
  /** `once`: as above. */
  | Event<"ThreadReviewSet", { needsReview: boolean; reason: string | null; once?: string }>
  /** `once`: as above. */
  | Event<"ThreadPrioritySet", { priority: Priority; once?: string }>
  | Event<"DraftNoted", { draftId: string } & NotedDraft>
  | Event<"SendClaimed", SendClaim & { replaces: string | null }>
  | Event<"SendClaimReleased", { draftId: string; attemptId: string; because: string }>
  /** From here on this thread only points to the survivor, where everything else happens. `number`: the filing that merged them. */
  | Event<"ThreadFrozen", { survivorId: string; number: number }>
  /**
   * What the survivor has to know of the absorbed one to judge sends as both together. What is too much for one event comes in parts: until the
   * last one nothing is sent from the survivor.
   */
  | Event<
      "ThreadAbsorbed",
      {
        absorbedId: string;
        number: number;
        newestNumber: number;
        newestWord: NewestWord | null;
        participants: string[];
        /** Open ones, and those that closed last. */
        drafts: Record<string, NotedDraft>;
        claims: SendClaim[];
        needsReview: boolean;
        /** Filing numbers of its mails whose authentication is still to come. */
        unauthenticated: number[];
        /** By draft: the machines that were answered. */
        machineAnswers: Record<string, string[]>;
        /** Its newest mails of ours. */
        answers: { draftId: string; after: number }[];
        part: AbsorbedPart;
      }
    >;

export const threadStream = (id: string): string => `thread-${id}`;
