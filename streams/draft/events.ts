import type { Event } from "../event.ts";
import type { MessagePlace } from "../thread/events.ts";
import type { DraftContent, Making } from "./content.ts";

/** The content itself, or, if it is too large for an event, the blob with its JSON. */
export type StoredContent = { content: DraftContent | null; contentBlob: string | null };

/** A mail that a key sends in one call. */
export type DirectKind = "send" | "reply" | "test_email";

export type Decision = "approve" | "reject";

/** One press of a button or link: only its hash is kept. Bound to the draft's version by the event that carries it. */
export type DecisionToken = { sha256: string; decision: Decision };

/** What authorised a send. Every queued draft has exactly one (streams/README.md, invariant 2). */
export type Authorisation = {
  kind: "approval" | "api_key" | "auto";
  approvedVersion: number;
  /** If more than one approval was required: those that the draft's approval is made of. */
  quorum?: Quorum;
};

/** Enough approvals of one version. `voters`: whose they are, each once (quorum.ts). */
export type Quorum = { required: number; voters: string[] };

export type Asked = {
  notificationId: string;
  /** The event this notification answers, so that it is answered once. */
  causedBy: string;
  version: number;
  contentSha256: string;
  /** `address`: whom the channel reaches, for comparing alone; no secret. */
  channel: { slot: "primary" | "secondary"; type: string; address: string };
  tokens: DecisionToken[];
  expiresAt: string;
  /** What has to be typed beside the press, as an HMAC in hex; absent where nothing is. */
  confirmCode?: string;
  /** It was not mailed by itself: one mail named it among others. */
  bundled?: true;
  /** The list that such a mail leads to: the SHA-256 of its token. Absent while the request waits for its mail, and has no tokens yet. */
  listSha256?: string;
};

/** Where a question is in a chat, as its provider names them: the chat, and its messages in their order. The last one has the buttons. */
export type ChatMessage = { chat: string; ids: string[] };

/** Why a link decides nothing any more: it was found in inbound mail, or too many wrong codes were typed on its page. */
export type LinkClosure = "link_leaked" | "wrong_codes";

/** Why there is another version: somebody edited it, or the service itself made it. */
export type EditReason = "edit" | "identity_changed";

export type DraftEvent =
  | Event<
      "DraftSubmitted",
      StoredContent &
        Making & {
          workspaceId: string;
          threadId: string;
          identityId: string;
          basedOnMessageId: string | null;
          /** The filing number of that message (streams/filing); 0 for a draft that answers none. */
          basedOnNumber: number;
          /** Where in the log that message is; null for a draft that answers none. */
          answers: MessagePlace | null;
          /** The id its message will have once it is queued. */
          messageId: string;
          contentSha256: string;
          rationale: string | null;
          metadata: Record<string, unknown> | null;
          staleWarning: boolean;
          autoApproved: boolean;
          /** What asked for it, if that was no draft of its own. */
          kind?: DirectKind;
          /** Its submission is the key's own authorisation: the approval follows at once. */
          approvedAtOnce?: true;
          /** If it answers a machine: the addresses it goes to, in lower case. */
          machineAddresses?: string[];
        }
    >
  | Event<
      "DraftEdited",
      StoredContent &
        Making & {
          version: number;
          contentSha256: string;
          rationale: string | null;
          changedFields: string[];
          because: EditReason;
          /** Who edited it approved it by the same act, and nobody else had to: the approval is in the same append. */
          approvedAtOnce?: true;
        }
    >
  /**
   * One of several approvals that are required; the draft waits for the others. `voter`: whom it counts for, once; `place`: the chat it was given
   * in. `required`: as many as were asked for then. Who gave it is in the metadata's actor.
   */
  | Event<
      "ApprovalGiven",
      {
        version: number;
        contentSha256: string;
        tokenSha256: string | null;
        sendRequested: boolean;
        voter: string;
        place?: string;
        /** Other names by which the same person may vote: a signed-in person's mailboxes, the user of a mailbox. */
        also?: string[];
        required: number;
      }
    >
  /** A signed-in person took their own approval back while others were still missing. `voter`: whom it counted for. */
  | Event<"ApprovalWithdrawn", { version: number; voter: string }>
  /** `sendRequested`: this approval means to send; a process carries it out. Who decided is in the metadata's actor. */
  | Event<
      "DraftApproved",
      {
        version: number;
        contentSha256: string;
        sendRequested: boolean;
        tokenSha256: string | null;
        /**
         * If a rule approved: the run that planned it, and the rule, for the history. Decisions ask only whether it is there: what granted
         * is read from the runs.
         */
        grantedBy?: { runId: string; ruleId: string };
        /** If more than one had to approve: all of them. The actor is the last one. */
        quorum?: Quorum;
        /** If a signed-in person approved: the voter that they count as. They may take it back until it is on its way. */
        approver?: string;
        /** ISO 8601: nothing is claimed or sent before, so that who approved can take it back. */
        sendAfter?: string;
      }
    >
  | Event<"DraftRejected", { version: number; reason: string | null; tokenSha256: string | null }>
  /**
   * `withdrawn`: the voter who took the approval back; what others had approved still counts, and the question is open as it was. `lapsed`: the
   * signed-in voters who may not decide any more; what others had approved still counts.
   */
  | Event<
      "DraftReturnedToPending",
      {
        because: string;
        withdrawn?: string;
        lapsed?: string[];
        /** The drafts whose sends answered its message after it was approved; `because` is answered_meanwhile then. */
        answeredBy?: string[];
      }
    >
  /** An approval that could not be sent now, and why, in a code of the contract. */
  | Event<"SendHeld", { code: string; message: string }>
  | Event<
      "DraftQueued",
      StoredContent & {
        attemptId: string;
        version: number;
        contentSha256: string;
        threadId: string;
        identityId: string;
        messageId: string;
        quotaStream: string;
        reservationId: string;
        authorisation: Authorisation;
      }
    >
  /** `tries`: how often the provider said "later" before; pauses and recoveries do not count. */
  | Event<"DraftRequeued", { attemptId: string; replaces: string; tries: number }>
  /** From here on a late queueing under this attempt conflicts. */
  | Event<"SendAbandoned", { attemptId: string; because: string }>
  | Event<"DraftMarkedStale", { newMessageId: string }>
  /** The step that records this also tells the thread, and is repeated until that is done. */
  | Event<"DraftSent", { attemptId: string; rfcMessageId: string; sentAt: string }>
  | Event<"DraftFailed", { attemptId: string | null; code: string; message: string }>
  /** Evidence that came after a draft had failed as `unconfirmed`: the draft stays failed. */
  | Event<"LateEvidence", { attemptId: string; outcome: "accepted" | "refused" }>
  /** The turn of an auto-approved draft's rules has come, after those of other drafts that answer the same message. */
  | Event<"DraftRulesBegun", Record<string, never>>
  /** The rules of draft.created have run. An auto-approved draft waits for this; `manual` sent it back to a person before. */
  | Event<"DraftRulesApplied", { mode: "auto" | "manual" | null }>
  /** No decision in time, or the first channel was not reached, or several have to approve: the secondary channel is asked. Once per version. */
  | Event<"DraftEscalated", { version: number; channelType: string }>
  | Event<"NotifyRequested", { at: string }>
  | Event<"ApproversAsked", Asked>
  /** `message`: where the question is, if in a chat. */
  | Event<"ApproversNotified", { notificationId: string; message?: ChatMessage }>
  /** `final`: it is not tried again, or it was taken and came back. `waits`: it was not tried, and waits for room in our own measure of mail. */
  | Event<"NotificationFailed", { notificationId: string; error: string; final: boolean; waits?: true }>
  /** Its tokens are still recognised and decide nothing. `messageId`: the inbound message that a link was found in. */
  | Event<"ApprovalLinkClosed", { notificationId: string; because: LinkClosure; messageId?: string }>
  /** A wrong code was typed on its page. An empty field is none. */
  | Event<"ConfirmCodeRefused", { notificationId: string }>;

export const draftStream = (id: string): string => `draft-${id}`;
