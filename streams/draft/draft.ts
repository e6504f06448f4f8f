import { Rejected } from "../decider.ts";
import type { MessagePlace } from "../thread/events.ts";
import type { Making } from "./content.ts";
import type { Asked, ChatMessage, LinkClosure, Quorum, StoredContent } from "./events.ts";

export type DraftStatus = "pending" | "approved" | "sending" | "sent" | "stale" | "rejected" | "failed";

/** The part of an event that says how its content came to be. */
export const makingOf = ({ htmlRemoved, textDerived, pictures }: Making): Making => ({
  htmlRemoved,
  ...(textDerived && { textDerived }),
  ...(pictures && { pictures }),
});

/** Who approved. What the switch (auto_approve_replies) or a rule approved has to be granted still whenever it is sent. */
export type Approval =
  /** `quorum`: where more than one had to approve. */
  { by: "person" | "key"; quorum?: Quorum } | { by: "switch" } | { by: "rule"; runId: string; ruleId: string };

/** Approved, and certainly by a person or a key: no approver is asked again. */
export const isByPersonOrKey = (approval: Approval | null): boolean =>
  approval?.by === "person" || approval?.by === "key";

/**
 * One approver's approval of the draft's newest version. `voter`: who counts once, whichever way they came; `place`: the chat it was given in, its
 * kind first, which tells nobody apart by itself. `sendRequested`: it means to send.
 */
export type Vote = {
  voter: string;
  place: string | null;
  /** Other names by which the same person may vote. */
  also?: readonly string[];
  sendRequested: boolean;
};

/** What every draft has, whatever its status. */
export type DraftFacts = {
  exists: boolean;
  workspaceId: string;
  threadId: string;
  identityId: string;
  basedOnMessageId: string | null;
  basedOnNumber: number;
  /** Where in the log the answered message is; null if it answers none. */
  answers: MessagePlace | null;
  /** If it answers a machine: the addresses it goes to. */
  machineAddresses: readonly string[];
  messageId: string;
  version: number;
  /** The newest version that somebody wrote: the submission or an edit. The service itself makes the others, after an identity's change. */
  authoredVersion: number;
  /** The newest version that was approved, by anybody and in any way; 0 before any. */
  approvedVersion: number;
  contentSha256: string;
  stored: StoredContent;
  making: Making;
  rationale: string | null;
  /** Approved only by its identity's auto_approve_replies, and by no person or key since: then it waits for the rules of its creation. */
  autoApproved: boolean;
  rulesBegun: boolean;
  rulesApplied: boolean;
  abandoned: readonly string[];
  /** The newest version that went to the secondary channel; 0 before any. */
  escalatedVersion: number;
  notified: Notified;
  /** Approvals of this version: while they are too few, and those that an approval of several is made of. */
  votes: readonly Vote[];
  /** The drafts whose sends its approvers were asked again about. */
  askedAgainAbout: readonly string[];
  /** The signed-in person whose approval it has; null if it has none, or another's. */
  approver: Approver | null;
};

/** `voter`: whom it counts for. `sendAfter` (ISO 8601): nothing leaves before, and until it is on its way they can take it back; null if it does not send. */
export type Approver = { voter: string; sendAfter: string | null };

/** This version has no approval, or its approval was withdrawn. */
export type Unapproved = { approval: null; sendRequested: false; held: null };

export type Approved = {
  approval: Approval;
  /** The approval means to send; until that send was queued, held or given up. */
  sendRequested: boolean;
  /** Why the send cannot go on now, in a code of the contract. */
  held: string | null;
};

/** It never came to a send. */
export type Unsent = { attemptId: null; tries: 0; reservation: null };

export type Reservation = { quotaStream: string; reservationId: string };

/** Queued: it leaves under this attempt, and under no other. `tries`: how often the provider said "later" before. */
export type UnderWay = { attemptId: string; tries: number; reservation: Reservation };

/** Over. `held`: the last obstacle on the way; the rest as its last send left it. */
export type Ended = (Unsent | UnderWay) & { approval: Approval | null; sendRequested: false; held: string | null };

export type Unfailed = { failureCode: null; lateEvidence: null };

export type Failed = {
  failureCode: string;
  /** What was found out after it had failed as unconfirmed. */
  lateEvidence: "accepted" | "refused" | null;
};

export type PendingDraft = DraftFacts & { status: "pending" } & Unapproved & Unsent & Unfailed;
export type ApprovedDraft = DraftFacts & { status: "approved" } & Approved & Unsent & Unfailed;
/** `approval` null: events of a queued draft alone, without what came before. */
export type SendingDraft = DraftFacts & {
  status: "sending";
  approval: Approval | null;
  sendRequested: false;
  held: null;
} & UnderWay &
  Unfailed;
export type EndedDraft = DraftFacts & Ended & { status: "sent" | "stale" | "rejected" } & Unfailed;
export type FailedDraft = DraftFacts & Ended & { status: "failed" } & Failed;

/** A draft's current state: fields that its status does not have are null. */
export type Draft = PendingDraft | ApprovedDraft | SendingDraft | EndedDraft | FailedDraft;

/** What was shown to approvers: the tokens by which a decision is recognised, by notification. */
export type Notified = {
  requestedAt: string | null;
  open: Readonly<Record<string, Asked>>;
  answered: readonly string[];
  /** Notifications that a channel took. */
  reached: readonly string[];
  /** Where those are that a chat took, by notification. */
  messages: Readonly<Record<string, ChatMessage>>;
  /** Notifications that failed for good: not taken, or taken and come back. */
  failed: readonly string[];
  /** Notifications whose links decide nothing any more, in the order of their closing. */
  closed: Readonly<Record<string, { because: LinkClosure; messageId: string | null }>>;
  /** How many wrong codes were typed, by notification. */
  wrongCodes: Readonly<Record<string, number>>;
};

/**
 * An earlier version was approved, the service itself made a newer one, and nobody has decided on that: a key's plain send was never
 * meant for it.
 */
export const isUndecidedChange = ({ version, authoredVersion, approvedVersion }: Draft): boolean =>
  approvedVersion > 0 && approvedVersion < version && authoredVersion < version;

/** Rejected content_changed, with the version and hash that have to be decided on now. */
export function contentChanged({ version, contentSha256 }: Pick<Draft, "version" | "contentSha256">): Rejected {
  return new Rejected(
    "content_changed",
    `the service created a new version after this draft was approved, because its identity changed: review version ${version}, then approve it, or send it with If-Match: "${version}" and a new Idempotency-Key`,
    { version, content_sha256: contentSha256 },
  );
}

/** Refuses, in the contract's words, an operation on a draft whose status does not allow it. */
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
