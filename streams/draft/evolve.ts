import { unreachable } from "../unreachable.ts";
import {
  type Approval,
  type ApprovedDraft,
  type Draft,
  type DraftOrigin,
  isByPersonOrKey,
  type PendingDraft,
  pickOrigin,
  type SendingDraft,
  type Unapproved,
  type Unfailed,
  type Unsent,
} from "./draft.ts";
import type { DraftEvent } from "./events.ts";
import { evolveNotified } from "./notified.ts";
import { quorumKind, votesLeft, withoutVote, withVote } from "./quorum.ts";

const unapproved: Unapproved = { approval: null, sendRequested: false, held: null };
const unfailed: Unfailed = { failureCode: null, lateEvidence: null };
const unsent: Unsent = { attemptId: null, tries: 0, reservation: null };

/** A draft before its submission. */
export const initialDraft: Draft = {
  exists: false,
  workspaceId: "",
  threadId: "",
  identityId: "",
  basedOnMessageId: null,
  basedOnNumber: 0,
  basedOnReceivedAt: null,
  answers: null,
  machineAddresses: [],
  looksAutomatic: false,
  messageId: "",
  status: "pending",
  version: 0,
  authoredVersion: 0,
  approvedVersion: 0,
  contentSha256: "",
  stored: { content: null, contentBlob: null },
  making: { htmlRemoved: [] },
  rationale: null,
  autoApproved: false,
  rulesBegun: false,
  rulesApplied: false,
  abandoned: [],
  escalatedVersion: 0,
  notified: {
    requestedAt: null,
    renewedAt: {},
    repeated: null,
    expired: false,
    open: {},
    answered: [],
    reached: [],
    messages: {},
    failed: [],
    closed: {},
    wrongCodes: {},
  },
  votes: [],
  changesRequest: null,
  assigneeId: null,
  askedAgainAbout: [],
  approver: null,
  ...unapproved,
  ...unsent,
  ...unfailed,
};

/** Applies an event to a draft. */
export function evolveDraft(draft: Draft, event: DraftEvent): Draft {
  switch (event.type) {
    case "DraftSubmitted":
      return submitted(draft, event.data);
    case "DraftEdited":
      return edited(draft, event.data);
    case "ApprovalGiven":
      return voted(draft, event.data);
    case "ApprovalWithdrawn":
      return { ...draft, votes: withoutVote(draft.votes, event.data.voter) };
    case "ChangesRequested": {
      const { version, text, requester, also } = event.data;
      return { ...draft, changesRequest: { version, text, requester, ...(also && { also }), reminded: false } };
    }
    case "ChangesRequestWithdrawn":
      return { ...draft, changesRequest: null };
    case "ChangesReminded":
      return { ...draft, changesRequest: draft.changesRequest && { ...draft.changesRequest, reminded: true } };
    case "DraftAssigned":
      return { ...draft, assigneeId: event.data.assignee?.userId ?? null };
    case "DraftApproved":
      return approved(draft, event.data);
    case "DraftReturnedToPending":
      return returned(draft, event.data);
    case "DraftRejected":
      return { ...draft, sendRequested: false, status: "rejected", ...unfailed };
    case "SendHeld":
      return held(draft, event.data.code);
    case "DraftQueued":
      return queued(draft, event.data);
    case "DraftRequeued":
      return draft.status === "sending"
        ? { ...draft, attemptId: event.data.attemptId, tries: event.data.tries }
        : draft;
    case "SendAbandoned":
      return { ...draft, abandoned: [...draft.abandoned, event.data.attemptId] };
    case "DraftMarkedStale":
      return { ...draft, sendRequested: false, status: "stale", ...unfailed };
    case "DraftSent":
      return { ...draft, sendRequested: false, status: "sent", ...unfailed };
    case "DraftFailed":
      return { ...draft, sendRequested: false, status: "failed", failureCode: event.data.code, lateEvidence: null };
    case "LateEvidence":
      return draft.status === "failed" ? { ...draft, lateEvidence: event.data.outcome } : draft;
    case "DraftEscalated":
      return { ...draft, escalatedVersion: event.data.version };
    case "DraftRulesBegun":
      return { ...draft, rulesBegun: true };
    case "DraftRulesApplied":
      return { ...draft, rulesApplied: true };
    case "NotifyRequested":
    case "RequestsRepeated":
    case "RequestsExpired":
    case "ApproversAsked":
    case "ApproversNotified":
    case "NotificationFailed":
    case "ApprovalLinkClosed":
    case "ConfirmCodeRefused":
      return { ...draft, notified: evolveNotified(draft.notified, event) };
    default:
      return unreachable(event);
  }
}

type DataOf<Type extends DraftEvent["type"]> = Extract<DraftEvent, { type: Type }>["data"];

function submitted(draft: Draft, data: DataOf<"DraftSubmitted">): Draft {
  const { content, contentBlob, autoApproved, workspaceId, threadId, identityId, basedOnMessageId } = data;
  const { basedOnNumber, basedOnReceivedAt = null, answers, machineAddresses = [], warnings = [] } = data;
  const { messageId, contentSha256, rationale } = data;
  const facts: DraftOrigin = {
    ...draft,
    ...{ workspaceId, threadId, identityId, basedOnMessageId, basedOnNumber, basedOnReceivedAt, answers },
    ...{ machineAddresses, messageId, contentSha256, rationale, autoApproved },
    looksAutomatic: warnings.includes("absence_notice"),
    stored: { content, contentBlob },
    making: pickOrigin(data),
    exists: true,
    version: 1,
    authoredVersion: 1,
    approvedVersion: autoApproved ? 1 : 0,
  };
  return autoApproved
    ? {
        ...facts,
        status: "approved",
        approval: { by: "switch" },
        sendRequested: true,
        held: null,
        ...unsent,
        ...unfailed,
      }
    : { ...facts, status: "pending", ...unapproved, ...unsent, ...unfailed };
}

function edited(draft: Draft, data: DataOf<"DraftEdited">): PendingDraft {
  const { version, contentSha256, rationale, content, contentBlob, because } = data;
  return {
    ...draft,
    ...{ version, contentSha256, rationale },
    stored: { content, contentBlob },
    making: pickOrigin(data),
    authoredVersion: because === "edit" ? version : draft.authoredVersion,
    // A version that the service makes itself carries the request over.
    changesRequest: because === "edit" ? null : draft.changesRequest,
    autoApproved: false,
    votes: [],
    approver: null,
    status: "pending",
    ...unapproved,
    ...unsent,
    ...unfailed,
  };
}

function voted(draft: Draft, data: DataOf<"ApprovalGiven">): Draft {
  if (draft.status !== "pending" || data.version !== draft.version) return draft;
  const { voter, place = null, also, sendRequested, tokenSha256 } = data;
  const vote = { voter, place, ...(also && { also }), sendRequested, ...(tokenSha256 !== null && { tokenSha256 }) };
  return { ...draft, votes: withVote(draft.votes, vote) };
}

/** Returns the draft to pending. If one approval was taken back, or fell with a role, the others' approvals stay. */
function returned(draft: Draft, { answeredBy = [], ...data }: DataOf<"DraftReturnedToPending">): PendingDraft {
  const votes = votesLeft(draft.votes, data);
  const askedAgainAbout = [...draft.askedAgainAbout, ...answeredBy];
  const facts = { ...draft, autoApproved: false, votes, approver: null, askedAgainAbout };
  return { ...facts, status: "pending", ...unapproved, ...unsent, ...unfailed };
}

function approved(draft: Draft, data: DataOf<"DraftApproved">): ApprovedDraft {
  const { version: approvedVersion, sendRequested, approver: voter, sendAfter = null, tokenSha256 } = data;
  const approval = approvalOf(data);
  const approver = voter === undefined ? null : { voter, sendAfter, tokenSha256 };
  const votes = data.quorum ? draft.votes : [];
  const facts = { ...draft, approvedVersion, autoApproved: false, votes, approver };
  return { ...facts, status: "approved", approval, sendRequested, held: null, ...unsent, ...unfailed };
}

function held(draft: Draft, code: string): Draft {
  return draft.status === "approved" ? { ...draft, held: code, sendRequested: isHeldForLater(draft, code) } : draft;
}

function queued(draft: Draft, data: DataOf<"DraftQueued">): SendingDraft {
  const { attemptId, quotaStream, reservationId, authorisation } = data;
  const approval: Approval | null = authorisation.kind === "api_key" ? { by: "key" } : draft.approval;
  const underWay = { attemptId, tries: 0, reservation: { quotaStream, reservationId } };
  return { ...draft, status: "sending", approval, sendRequested: false, held: null, ...underWay, ...unfailed };
}

function approvalOf({ tokenSha256, approver, grantedBy, quorum }: DataOf<"DraftApproved">): Approval {
  if (quorum) return { by: quorumKind(quorum), quorum };
  if (tokenSha256 !== null || approver !== undefined) return { by: "person" };
  if (grantedBy) return { by: "rule", ...grantedBy };
  return { by: "key" };
}

/**
 * True if the send continues by itself once the obstacle has ended: any after a pause, and an automatic approval once its identity is
 * active again.
 */
const isHeldForLater = ({ approval, sendRequested }: ApprovedDraft, code: string): boolean =>
  code === "sending_paused" || (code === "identity_not_active" && sendRequested && !isByPersonOrKey(approval));
