import { Rejected } from "../decider.ts";
import type { MessagePlace } from "../thread/events.ts";
import type { ContentOrigin } from "./content.ts";
import type { ApprovalRequest, ChatMessage, LinkClosure, Quorum, StoredContent } from "./events.ts";

export type DraftStatus = "pending" | "approved" | "sending" | "sent" | "stale" | "rejected" | "failed";

/** Picks the fields of an event that describe the content's origin. */
export const pickOrigin = ({ htmlRemoved, textDerived, pictures }: ContentOrigin): ContentOrigin => ({
  htmlRemoved,
  ...(textDerived && { textDerived }),
  ...(pictures && { pictures }),
});

/** The approval of a draft. A grant by the switch (auto_approve_replies) or a rule must still hold whenever the draft is sent. */
export type Approval =
  /** `quorum`: if more than one approval was required. */
  { by: "person" | "key"; quorum?: Quorum } | { by: "switch" } | { by: "rule"; runId: string; ruleId: string };

/** True if a rule or a setting approved, and no person or key. */
export const isByGrant = (approval: Approval | null): boolean => approval?.by === "switch" || approval?.by === "rule";

/** True if a person or a key approved: no approver is asked again. */
export const isByPersonOrKey = (approval: Approval | null): boolean =>
  approval?.by === "person" || approval?.by === "key";

/**
 * One approver's approval of the draft's newest version. `voter`: the id that counts once, whichever way the approval was given; `place`:
 * the chat it was given in, prefixed with its kind, which does not identify a person. `sendRequested`: the approval also requests the send.
 */
export type Vote = {
  voter: string;
  place: string | null;
  /** Further voter names of the same person. */
  also?: readonly string[];
  sendRequested: boolean;
  /** The link that was used; absent if none was. */
  tokenSha256?: string;
};

/**
 * An approver's request to change `version`, in their words. `requester`, `also`: voter names of the approver. `reminded`: the approver was
 * reminded that the changes were not made.
 */
export type ChangesRequest = {
  version: number;
  text: string;
  requester: string;
  also?: readonly string[];
  reminded: boolean;
};

/** Fields of every draft, whatever its status. */
export type DraftOrigin = {
  exists: boolean;
  workspaceId: string;
  threadId: string;
  identityId: string;
  basedOnMessageId: string | null;
  basedOnNumber: number;
  /** When the answered message was received (ISO 8601); null for a draft that answers none. */
  basedOnReceivedAt: string | null;
  /** Location of the answered message in the log; null if it answers none. */
  answers: MessagePlace | null;
  /** For a reply to a machine: its recipients' addresses. */
  machineAddresses: readonly string[];
  /** True if the answered message looks like an automatic answer, but nothing proves it. */
  looksAutomatic: boolean;
  messageId: string;
  version: number;
  /**
   * The newest version written by an author: the submission or an edit. The service itself makes other versions, after an identity's
   * change.
   */
  authoredVersion: number;
  /** The newest version that was approved, by whomever and in any way; 0 if none. */
  approvedVersion: number;
  contentSha256: string;
  stored: StoredContent;
  making: ContentOrigin;
  rationale: string | null;
  /**
   * True if approved only by its identity's auto_approve_replies, not by a person or key since: then it waits for the rules of its
   * creation.
   */
  autoApproved: boolean;
  rulesBegun: boolean;
  rulesApplied: boolean;
  abandoned: readonly string[];
  /** The newest version that was sent to the secondary channel; 0 if none. */
  escalatedVersion: number;
  notified: Notified;
  /** Approvals of this version: those given so far, and those of a completed quorum. */
  votes: readonly Vote[];
  /** The newest request for changes that no edit has answered; valid while the draft is pending (changesRequest.ts). */
  changesRequest: ChangesRequest | null;
  /** User id of the member to whom it is assigned; null if it is assigned to nobody. Restricts nothing. */
  assigneeId: string | null;
  /** Drafts that answered the same message, and about which its approvers were asked again. */
  askedAgainAbout: readonly string[];
  /** The person who approved it and could take it back at first; null if none did. */
  approver: Approver | null;
};

/**
 * `voter`: the id it counts for. `sendAfter` (ISO 8601): the draft is not sent before, and until it is queued the approver can take the
 * approval back; null if it requests no send. `tokenSha256`: the link that they used; null for a signed-in person.
 */
export type Approver = { voter: string; sendAfter: string | null; tokenSha256: string | null };

/** Fields of a version without an approval, or whose approval was withdrawn. */
export type Unapproved = { approval: null; sendRequested: false; held: null };

export type Approved = {
  approval: Approval;
  /** True while the approval requests a send that was not yet queued, held or given up. */
  sendRequested: boolean;
  /** Code of the contract for why the send cannot continue now. */
  held: string | null;
};

/** A draft that was never queued. */
export type Unsent = { attemptId: null; tries: 0; reservation: null };

export type Reservation = { quotaStream: string; reservationId: string };

/** A queued draft: it is sent under this attempt and no other. `tries`: number of temporary refusals by the provider so far. */
export type UnderWay = { attemptId: string; tries: number; reservation: Reservation };

/** An ended draft. `held`: the last obstacle; the other fields as of its last send. */
export type Ended = (Unsent | UnderWay) & { approval: Approval | null; sendRequested: false; held: string | null };

export type Unfailed = { failureCode: null; lateEvidence: null };

export type Failed = {
  failureCode: string;
  /** Outcome learned after it had failed as unconfirmed. */
  lateEvidence: "accepted" | "refused" | null;
};

export type PendingDraft = DraftOrigin & { status: "pending" } & Unapproved & Unsent & Unfailed;
export type ApprovedDraft = DraftOrigin & { status: "approved" } & Approved & Unsent & Unfailed;
/** `approval` null: only when folded from a queued draft's events without the earlier ones. */
export type SendingDraft = DraftOrigin & {
  status: "sending";
  approval: Approval | null;
  sendRequested: false;
  held: null;
} & UnderWay &
  Unfailed;
export type EndedDraft = DraftOrigin & Ended & { status: "sent" | "stale" | "rejected" } & Unfailed;
export type FailedDraft = DraftOrigin & Ended & { status: "failed" } & Failed;

/** A draft's current state: fields that its status does not have are null. */
export type Draft = PendingDraft | ApprovedDraft | SendingDraft | EndedDraft | FailedDraft;

/** Notifications of approvers: the tokens by which a decision is recognised, by notification. */
export type Notified = {
  /** Time (ISO 8601) of the newest request to notify the approvers. */
  requestedAt: string | null;
  /** Time (ISO 8601) at which an expired link's holder last asked for a new request, by the link's notification. */
  renewedAt: Readonly<Record<string, string>>;
  /** The newest repetition of requests that ran out. */
  repeated: { version: number; until: string } | null;
  /** True if the requests about the newest version that was asked about ran out for good, and nobody was asked since. */
  expired: boolean;
  open: Readonly<Record<string, ApprovalRequest>>;
  answered: readonly string[];
  /** Notifications that a channel accepted. */
  reached: readonly string[];
  /** Chat messages of the accepted notifications, by notification. */
  messages: Readonly<Record<string, ChatMessage>>;
  /** Notifications that failed for good: not accepted, or bounced. */
  failed: readonly string[];
  /** Notifications whose links are closed, in the order of their closing. */
  closed: Readonly<Record<string, { because: LinkClosure; messageId: string | null }>>;
  /** Number of wrong codes typed, by notification. */
  wrongCodes: Readonly<Record<string, number>>;
};

/** Returns the draft's open request for changes; null if there is none, or the draft is no longer pending. */
export const openChangesRequest = ({ status, changesRequest }: Draft): ChangesRequest | null =>
  status === "pending" ? changesRequest : null;

/**
 * True if an earlier version was approved, the service itself made a newer one, and no decision about that was made: a key's plain send was
 * not meant for it.
 */
export const isUndecidedChange = ({ version, authoredVersion, approvedVersion }: Draft): boolean =>
  approvedVersion > 0 && approvedVersion < version && authoredVersion < version;

/** Creates Rejected content_changed, with the version and hash to decide on now. */
export function contentChanged({ version, contentSha256 }: Pick<Draft, "version" | "contentSha256">): Rejected {
  return new Rejected(
    "content_changed",
    `the service created a new version after this draft was approved, because its identity changed: review version ${version}, then approve it, or send it with If-Match: "${version}" and a new Idempotency-Key`,
    { version, content_sha256: contentSha256 },
  );
}

/** Throws Rejected if a draft's status does not allow the operation. */
export function requireStatus(draft: Draft, operation: string, ...allowed: DraftStatus[]): void {
  if (allowed.includes(draft.status)) return;
  throw new Rejected(
    "invalid_status",
    `a draft that is ${draft.status} cannot be ${operation}: expected ${allowed.join(" or ")}`,
    {
      status: draft.status,
    },
  );
}
