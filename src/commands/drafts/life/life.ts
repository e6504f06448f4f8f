import type { DeliveryRecipient } from "#streams/delivery/events.ts";
import type { Vote as CountedVote, DraftStatus } from "#streams/draft/draft.ts";
import type { ApprovalRequest, DirectKind, EditReason, LinkClosure } from "#streams/draft/events.ts";
import type { Actor } from "#streams/event.ts";

/** The recorded start of a hand-over. */
export type HandoverStart = {
  at: string;
  provider: string;
  version: number;
  contentSha256: string;
  mimeSha256: string;
};

/** Progress of an attempt to hand a mail over. `started`: null if only the attempt's end is recorded. Times are ISO strings. */
export type Handover =
  | { is: "none" }
  /** Not contained in the given history. */
  | { is: "untold" }
  | { is: "started"; started: HandoverStart }
  | { is: "abandoned"; at: string; because: string }
  | { is: "not handed over"; at: string; message: string }
  | { is: "accepted"; at: string; started: HandoverStart | null; response: string | null; refused: readonly string[] }
  | { is: "refused"; at: string; started: HandoverStart | null; message: string; isFinal: boolean }
  /** It is unknown if the provider accepted the mail. */
  | { is: "unknown"; at: string; started: HandoverStart | null; message: string };

/** A delivery report after the provider accepted the mail. */
export type ProviderReport = {
  type: ReportType;
  at: string;
  evidence: string;
  /** The recipients that it is about; none if it names none. */
  recipients: readonly DeliveryRecipient[];
};
type ReportType = "processed" | "delivered" | "delayed" | "dropped" | "bounced" | "complained";

/**
 * Authorisation of a version. `person`: one person; the actor says if by a mail link, in a chat or signed in. `people`: several approvals,
 * one of which may be by API keys. `key`: an API key; `how` says if the key approved, sent an unapproved draft, or wrote and sent the mail
 * by one call; null if unknown. `rule`, `setting`: no person decided. `service`: no authorisation of these kinds is recorded.
 */
export type RecordedAuthorisation = { at: string; version: number; contentSha256: string } & (
  | { by: "person" | "rule" | "service"; who: Actor }
  | { by: "people"; required: number; given: readonly Pick<GivenVote, "who" | "at">[] }
  | { by: "key"; who: Actor; how: "approved" | "sent" | "wrote" | null }
  | { by: "setting" }
);

/** An approval request made through a channel. `reachedAt`: when the channel accepted the request. Times are ISO strings. */
export type DecisionRequest = {
  id: string;
  version: number;
  channel: ApprovalRequest["channel"];
  askedAt: string;
  reachedAt: string | null;
  failure: { at: string; error: string; final: boolean } | null;
  closed: { at: string; because: LinkClosure } | null;
};

/** An approval that counts towards a quorum, with its actor and time. */
export type GivenVote = CountedVote & { who: Actor; at: string };

/** The message that made a draft stale. Fields are null if only the draft's own events were read. */
export type MessageMakingStale = { id: string | null; from: string | null; receivedAt: string | null };

/** State of a draft as far as its history proves it. */
export type DraftLife = {
  status: DraftStatus;
  kind: "draft" | DirectKind;
  /** Id of the API key that wrote this content and sent it by the same call; otherwise null. */
  wroteAndSent: string | null;
  version: number;
  contentSha256: string;
  /** Why this version was made; null for the first version. */
  madeBecause: EditReason | null;
  /** Since when this version has had no approval (or, for an ended version, from when until its end); null if the history does not say. */
  waitingSince: string | null;
  /** All recipients, including bcc; null if the content was not loaded. */
  recipients: readonly string[] | null;
  /** Approval requests about all versions, in order; null if the history does not say. */
  questions: readonly DecisionRequest[] | null;
  /** Time at which all requests about this version had expired without a decision; null if that is not so. */
  expiredAt: string | null;
  /** Approvals of this version until the quorum is reached. `required`: number of approvals needed; null before the first approval. */
  votes: readonly GivenVote[];
  required: number | null;
  /** The open request for changes; null if there is none. `version`: the version that was shown. */
  changesRequested: { at: string; who: Actor; text: string; version: number } | null;
  /** Authorisation of this version; null if it has none yet. */
  authorisation: RecordedAuthorisation | null;
  /** True if the draft is to be sent as soon as possible; null if the history does not say. */
  sendRequested: boolean | null;
  /** ISO time until which the approver can undo the approval, so the draft is not sent before; null if it may be sent at once. */
  sendAfter: string | null;
  /** The last approval that became invalid, if nobody decided since. `who`: person who undid it; null if it became invalid otherwise. */
  takenBack: { at: string; who: Actor | null; because: string } | null;
  held: { at: string | null; code: string; message: string | null } | null;
  queued: { at: string; who: Actor; version: number; contentSha256: string } | null;
  /** The newest attempt to hand the mail over. */
  handover: Handover;
  reports: readonly ProviderReport[];
  sentAt: string | null;
  rejected: { at: string; who: Actor; version: number; reason: string | null } | null;
  stale: { at: string | null; newer: MessageMakingStale } | null;
  failed: { at: string | null; code: string; message: string; beforeAnyAttempt: boolean } | null;
  lateEvidence: { at: string; outcome: "accepted" | "refused" } | null;
};
