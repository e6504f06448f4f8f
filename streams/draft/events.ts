import type { Event } from "../event.ts";
import type { MessagePlace } from "../thread/events.ts";
import type { ContentOrigin, DraftContent } from "./content.ts";
import type { VersionWarning } from "./warnings.ts";

/** Content, or, if it is too large for an event, the blob with its JSON. */
export type StoredContent = { content: DraftContent | null; contentBlob: string | null };

/** A mail that a key sends in one call. */
export type DirectKind = "send" | "reply" | "test_email";

export type Decision = "approve" | "reject";

/** Token of a button or link, of which only the hash is stored. Bound to the draft's version by the event that contains it. */
export type DecisionToken = { sha256: string; decision: Decision };

/** A page on which a signed-in person approved `size` drafts at once, each by its version and hash. */
export type Sheet = { id: string; size: number };

/** Authorisation of a send. Every queued draft has exactly one (streams/README.md, invariant 2). */
export type Authorisation = {
  kind: "approval" | "api_key" | "auto";
  approvedVersion: number;
  /** If more than one approval was required: the quorum of the draft's approval. */
  quorum?: Quorum;
};

/** The required number of approvals of one version. `voters`: ids of the voters, each once (quorum.ts). */
export type Quorum = { required: number; voters: string[] };

export type ApprovalRequest = {
  notificationId: string;
  /** Id of the event that caused this notification, so that each is notified once. */
  causedBy: string;
  version: number;
  contentSha256: string;
  /** `address`: the channel's recipient, only compared; not a secret. */
  channel: { slot: "primary" | "secondary"; type: string; address: string };
  tokens: DecisionToken[];
  expiresAt: string;
  /** HMAC (hex) of the code to be typed for a press; absent if none is required. */
  confirmCode?: string;
  /** Set if one mail listed it among others. */
  bundled?: true;
  /** SHA-256 of the token of that mail's list. Absent while the request waits for its mail, and has no tokens yet. */
  listSha256?: string;
};

/** Location of a notification in a chat, in the provider's ids: the chat, and its messages in their order. The last one has the buttons. */
export type ChatMessage = { chat: string; ids: string[] };

/** Reason why a link was closed: it was found in inbound mail, or too many wrong codes were entered on its page. */
export type LinkClosure = "link_leaked" | "wrong_codes";

/** Reason for a new version: an author edited the draft, or the service itself did. */
export type EditReason = "edit" | "identity_changed";

/** The member who takes care of a draft's decision: a sign to colleagues, which restricts nobody's right to decide. `name`: at that time. */
export type Assignee = { userId: string; name: string };

export type DraftEvent =
  | Event<
      "DraftSubmitted",
      StoredContent &
        ContentOrigin & {
          workspaceId: string;
          threadId: string;
          identityId: string;
          basedOnMessageId: string | null;
          /** The filing number of that message (streams/filing); 0 for a draft that answers none. */
          basedOnNumber: number;
          /** When that message was received (ISO 8601). Absent for a draft that answers none. */
          basedOnReceivedAt?: string;
          /** Location of that message in the log; null for a draft that answers none. */
          answers: MessagePlace | null;
          /** The id its message will have once it is queued. */
          messageId: string;
          contentSha256: string;
          rationale: string | null;
          metadata: Record<string, unknown> | null;
          staleWarning: boolean;
          autoApproved: boolean;
          /** Operation that created it, unless it was submitted as a draft. */
          kind?: DirectKind;
          /** Set if the submission is the key's own authorisation: the approval follows at once. */
          approvedAtOnce?: true;
          /** For a reply to a machine: its recipients' addresses, in lower case. */
          machineAddresses?: string[];
          /** Warnings about this version, found when it was made; absent in events from before these were stored. */
          warnings?: VersionWarning[];
        }
    >
  | Event<
      "DraftEdited",
      StoredContent &
        ContentOrigin & {
          version: number;
          contentSha256: string;
          rationale: string | null;
          changedFields: string[];
          because: EditReason;
          /** Set if the editor approved it by the same act, and no other approval was required: the approval is in the same append. */
          approvedAtOnce?: true;
          /** As above. */
          warnings?: VersionWarning[];
        }
    >
  /**
   * One of several required approvals; the draft waits for the others. `voter`: the id it counts for, once; `place`: the chat it was given
   * in. `required`: the number required at that time. The metadata's actor gave it.
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
        /** Further voter names of the same person: a signed-in person's mailboxes, the user of a mailbox. */
        also?: string[];
        required: number;
      }
    >
  /**
   * An approver asked the agent to change this version. Until an author edits the draft or the request is withdrawn, the version cannot be
   * approved or sent. `requester`, `also`: voter names of the approver (quorum.ts). The metadata's actor asked.
   */
  | Event<
      "ChangesRequested",
      {
        version: number;
        contentSha256: string;
        text: string;
        tokenSha256: string | null;
        requester: string;
        also?: string[];
      }
    >
  | Event<"ChangesRequestWithdrawn", { version: number }>
  /** A member takes care of the decision, whatever its version; null: nobody does. The metadata's actor assigned it. */
  | Event<"DraftAssigned", { assignee: Assignee | null }>
  /** The requested changes were not made in time; the approver who asked for them is reminded, once. */
  | Event<"ChangesReminded", { version: number }>
  /** A person undid their own approval while others were still missing. `voter`: the id it counted for. */
  | Event<"ApprovalWithdrawn", { version: number; voter: string }>
  /** `sendRequested`: this approval requests the send; a process carries it out. The metadata's actor decided. */
  | Event<
      "DraftApproved",
      {
        version: number;
        contentSha256: string;
        sendRequested: boolean;
        tokenSha256: string | null;
        /**
         * If a rule approved: its run and id, for the history. Decisions only check whether it is present: grants are read from the runs.
         */
        grantedBy?: { runId: string; ruleId: string };
        /** The quorum, if several approvals were required. The metadata's actor gave the last approval. */
        quorum?: Quorum;
        /** If the approver can take the approval back, signed in or on a link's page: their voter id. They can until the draft is queued. */
        approver?: string;
        /** ISO 8601: nothing is claimed or sent before, so that the approver can take it back. */
        sendAfter?: string;
        /** If the approver decided about several drafts on one page: the page's id, and its number of drafts. */
        sheet?: Sheet;
      }
    >
  | Event<"DraftRejected", { version: number; reason: string | null; tokenSha256: string | null }>
  /**
   * `withdrawn`: the voter who took the approval back; the others' approvals still count, and the question stays open. `lapsed`: signed-in
   * voters who may no longer decide; the others' approvals still count.
   */
  | Event<
      "DraftReturnedToPending",
      {
        because: string;
        withdrawn?: string;
        lapsed?: string[];
        /** If `because` is answered_meanwhile: the drafts that answered its message after it was approved. */
        answeredBy?: string[];
      }
    >
  /** An approved draft cannot be sent now: the reason as a code of the contract. */
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
        /** Subject and beginning of the body, to be searched, if the content is in a blob. */
        searchText?: Pick<DraftContent, "subject" | "body_text">;
      }
    >
  /** `tries`: number of temporary refusals by the provider so far; pauses and recoveries do not count. */
  | Event<"DraftRequeued", { attemptId: string; replaces: string; tries: number }>
  /** The attempt is abandoned: a late queueing under it conflicts. */
  | Event<"SendAbandoned", { attemptId: string; because: string }>
  | Event<"DraftMarkedStale", { newMessageId: string }>
  /** The step that records this also updates the thread, and is repeated until that is done. */
  | Event<"DraftSent", { attemptId: string; rfcMessageId: string; sentAt: string }>
  | Event<"DraftFailed", { attemptId: string | null; code: string; message: string }>
  /** Evidence that arrived after a draft had failed as `unconfirmed`: the draft stays failed. */
  | Event<"LateEvidence", { attemptId: string; outcome: "accepted" | "refused" }>
  /** The rules of an auto-approved draft begin, after those of other drafts that answer the same message. */
  | Event<"DraftRulesBegun", Record<string, never>>
  /** The rules of draft.created have run. An auto-approved draft waits for this; `manual` returned it to a person before. */
  | Event<"DraftRulesApplied", { mode: "auto" | "manual" | null }>
  /**
   * The secondary channel is asked, once per version: no decision was made in time, the first channel was not reached, or several approvals
   * are required.
   */
  | Event<"DraftEscalated", { version: number; channelType: string }>
  /** `slot`, `notificationId`: if the holder of this request's expired link asked, the channel that is asked. */
  | Event<"NotifyRequested", { at: string; slot?: ApprovalRequest["channel"]["slot"]; notificationId?: string }>
  /** Every request about the version ran out without a decision, so its approvers are asked once more. `until`: end of links made now. */
  | Event<"RequestsRepeated", { version: number; until: string }>
  /** Every request about the version ran out, and it is not asked about again by itself. */
  | Event<"RequestsExpired", { version: number }>
  | Event<"ApproversAsked", ApprovalRequest>
  /** `message`: location of the notification, if in a chat. */
  | Event<"ApproversNotified", { notificationId: string; message?: ChatMessage }>
  /**
   * `final`: no further attempt follows, or it was accepted and bounced. `waits`: it was not attempted, and waits for our own mail limits.
   */
  | Event<"NotificationFailed", { notificationId: string; error: string; final: boolean; waits?: true }>
  /** The link's tokens are still recognised but decide nothing. `messageId`: the inbound message that contained the link. */
  | Event<"ApprovalLinkClosed", { notificationId: string; because: LinkClosure; messageId?: string }>
  /** A wrong code was typed on the notification's page. An empty field does not count. */
  | Event<"ConfirmCodeRefused", { notificationId: string }>;

export const draftStream = (id: string): string => `draft-${id}`;
