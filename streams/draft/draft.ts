import { Rejected } from "../decider.ts";
import type { Making } from "./content.ts";
import type { Asked, StoredContent } from "./events.ts";

export type DraftStatus = "pending" | "approved" | "sending" | "sent" | "stale" | "rejected" | "failed";

/** Its HTML was reduced when it was submitted; false for drafts from before that was done. */
export const isReduced = ({ making }: { making: Making }): boolean => making.htmlRemoved !== undefined;

/** The part of an event that says how its content came to be. */
export const makingOf = ({ htmlRemoved, textDerived, pictures }: Making): Making => ({
  ...(htmlRemoved && { htmlRemoved }),
  ...(textDerived && { textDerived }),
  ...(pictures && { pictures }),
});

/**
 * Whose word an approval is. `unsaid`: the event does not tell, and the actor in its metadata does (a rule's approval of before rules said which
 * run granted it). What the switch (auto_approve_replies) or a rule approved has to be granted still whenever it is sent.
 */
export type Approval = { by: "person" | "key" | "switch" | "unsaid" } | { by: "rule"; runId: string; ruleId: string };

/** Approved, and surely by a person or a key: nobody is asked again. */
export const isByPersonOrKey = (approval: Approval | null): boolean =>
  approval?.by === "person" || approval?.by === "key";

export type Draft = {
  exists: boolean;
  workspaceId: string;
  threadId: string;
  identityId: string;
  basedOnMessageId: string | null;
  basedOnNumber: number;
  /** Where it answers a machine: the addresses it goes to. */
  machineAddresses: readonly string[];
  messageId: string;
  status: DraftStatus;
  version: number;
  /** The newest version that somebody wrote: the submission or an edit. The service itself makes the others, after an identity's change. */
  authoredVersion: number;
  /** The newest version that was approved, by anybody and in any way; 0 before any. */
  approvedVersion: number;
  contentSha256: string;
  stored: StoredContent;
  making: Making;
  rationale: string | null;
  /** Set by an approval that means to send, until that send was queued, held or given up. */
  sendRequested: boolean;
  /** Its approval is a person's own word, given through a channel, and no key's, rule's or setting's. */
  approvedByPerson: boolean;
  /** null: not approved, nor sent by a key. */
  approval: Approval | null;
  /** Stands approved by its identity's auto_approve_replies alone: then it waits for the rules of its creation. */
  autoApproved: boolean;
  rulesApplied: boolean;
  held: string | null;
  /** The hand-over under way (status sending). */
  attemptId: string | null;
  tries: number;
  reservation: { quotaStream: string; reservationId: string } | null;
  abandoned: readonly string[];
  failureCode: string | null;
  /** What was found out after it had failed as unconfirmed. */
  lateEvidence: "accepted" | "refused" | null;
  /** The newest version that went to the secondary channel; 0 before any. */
  escalatedVersion: number;
  notified: Notified;
};

/** What was shown to approvers: the tokens by which a decision is recognised, by notification. */
export type Notified = {
  requestedAt: string | null;
  open: Readonly<Record<string, Asked>>;
  answered: readonly string[];
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
    `the service made a new version after this draft was approved, because its identity changed or its HTML was reduced: review version ${version}, then approve it, or send it with If-Match: "${version}" under a new Idempotency-Key`,
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
