import type { Decider } from "../decider.ts";
import { Rejected } from "../decider.ts";
import { stream } from "../stream.ts";
import { unreachable } from "../unreachable.ts";
import { type Approval, type Draft, isByPersonOrKey, makingOf } from "./draft.ts";
import { type DraftEvent, draftStream } from "./events.ts";
import { answeredBy, decideNotification, type NotificationCommand } from "./notification.ts";
import { decideReview, type ReviewCommand } from "./review.ts";
import { decideSending, type SendingCommand } from "./sending.ts";

export type SubmitDraft = { type: "SubmitDraft"; draft: Extract<DraftEvent, { type: "DraftSubmitted" }>["data"] };
export type DraftCommand = SubmitDraft | ReviewCommand | SendingCommand | NotificationCommand;

const initial: Draft = {
  exists: false,
  workspaceId: "",
  threadId: "",
  identityId: "",
  basedOnMessageId: null,
  basedOnNumber: 0,
  machineAddresses: [],
  messageId: "",
  status: "pending",
  version: 0,
  authoredVersion: 0,
  approvedVersion: 0,
  contentSha256: "",
  stored: { content: null, contentBlob: null },
  making: {},
  rationale: null,
  sendRequested: false,
  approvedByPerson: false,
  approval: null,
  autoApproved: false,
  rulesApplied: false,
  held: null,
  attemptId: null,
  tries: 0,
  reservation: null,
  abandoned: [],
  failureCode: null,
  lateEvidence: null,
  escalatedVersion: 0,
  notified: { requestedAt: null, open: {}, answered: [] },
};

function evolve(draft: Draft, event: DraftEvent): Draft {
  switch (event.type) {
    case "DraftSubmitted": {
      const { content, contentBlob, autoApproved, workspaceId, threadId, identityId, basedOnMessageId } = event.data;
      const { basedOnNumber, machineAddresses = [], messageId, contentSha256, rationale } = event.data;
      const facts = { workspaceId, threadId, identityId, basedOnMessageId, basedOnNumber, machineAddresses, messageId };
      const status = autoApproved ? "approved" : "pending";
      const stored = { content, contentBlob };
      return {
        ...draft,
        ...facts,
        contentSha256,
        rationale,
        stored,
        making: makingOf(event.data),
        exists: true,
        version: 1,
        authoredVersion: 1,
        approvedVersion: autoApproved ? 1 : 0,
        status,
        sendRequested: autoApproved,
        autoApproved,
        approval: autoApproved ? { by: "switch" } : null,
      };
    }
    case "DraftEdited": {
      const { version, contentSha256, rationale, content, contentBlob, because } = event.data;
      const stored = { content, contentBlob };
      return {
        ...draft,
        stored,
        making: makingOf(event.data),
        version,
        authoredVersion: because === "edit" ? version : draft.authoredVersion,
        contentSha256,
        rationale,
        status: "pending",
        sendRequested: false,
        approvedByPerson: false,
        approval: null,
        autoApproved: false,
        held: null,
      };
    }
    case "DraftApproved": {
      const { version, sendRequested, tokenSha256 } = event.data;
      return {
        ...draft,
        status: "approved",
        approvedVersion: version,
        sendRequested,
        approvedByPerson: tokenSha256 !== null,
        approval: approvalOf(event.data),
        autoApproved: false,
      };
    }
    case "DraftRejected":
      return { ...draft, status: "rejected", sendRequested: false };
    case "DraftReturnedToPending":
      return {
        ...draft,
        status: "pending",
        sendRequested: false,
        approvedByPerson: false,
        approval: null,
        autoApproved: false,
        held: null,
      };
    case "SendHeld":
      return { ...draft, held: event.data.code, sendRequested: isHeldForLater(draft, event.data.code) };
    case "DraftQueued": {
      const { attemptId, quotaStream, reservationId } = event.data;
      const reservation = { quotaStream, reservationId };
      const approval: Approval | null = event.data.authorisation.kind === "api_key" ? { by: "key" } : draft.approval;
      return { ...draft, status: "sending", attemptId, reservation, sendRequested: false, held: null, approval };
    }
    case "DraftRequeued":
      return { ...draft, attemptId: event.data.attemptId, tries: event.data.tries };
    case "SendAbandoned":
      return { ...draft, abandoned: [...draft.abandoned, event.data.attemptId] };
    case "DraftMarkedStale":
      return { ...draft, status: "stale", sendRequested: false };
    case "DraftSent":
      return { ...draft, status: "sent" };
    case "DraftFailed":
      return { ...draft, status: "failed", sendRequested: false, failureCode: event.data.code };
    case "LateEvidence":
      return { ...draft, lateEvidence: event.data.outcome };
    case "DraftEscalated":
      return { ...draft, escalatedVersion: event.data.version };
    case "DraftRulesApplied":
      return { ...draft, rulesApplied: true };
    case "NotifyRequested":
      return { ...draft, notified: { ...draft.notified, requestedAt: event.data.at } };
    case "ApproversAsked": {
      const open = { ...draft.notified.open, [event.data.notificationId]: event.data };
      return { ...draft, notified: { ...draft.notified, open } };
    }
    case "ApproversNotified": {
      const asked = draft.notified.open[event.data.notificationId];
      const answered = asked
        ? [...draft.notified.answered, answeredBy(asked.causedBy, asked.channel.slot)]
        : draft.notified.answered;
      return { ...draft, notified: { ...draft.notified, answered } };
    }
    case "NotificationFailed":
      return draft;
    default:
      return unreachable(event);
  }
}

function approvalOf({ tokenSha256, grantedBy, sendRequested }: Approved): Approval {
  if (tokenSha256 !== null) return { by: "person" };
  if (grantedBy) return { by: "rule", ...grantedBy };
  return { by: sendRequested ? "unsaid" : "key" };
}

type Approved = Extract<DraftEvent, { type: "DraftApproved" }>["data"];

/** What leaves by itself once the obstacle is gone: anything after a pause, and what nobody approved when its identity is active again. */
const isHeldForLater = ({ approval, sendRequested }: Draft, code: string): boolean =>
  code === "sending_paused" || (code === "identity_not_active" && sendRequested && !isByPersonOrKey(approval));

function decide(command: DraftCommand, draft: Draft): DraftEvent[] {
  if (command.type === "SubmitDraft") {
    return draft.exists ? [] : submit(command.draft);
  }
  if (!draft.exists) throw new Rejected("not_found", "no such draft");
  switch (command.type) {
    case "EditDraft":
    case "ApproveDraft":
    case "RejectDraft":
    case "ReturnToPending":
    case "WithdrawApproval":
    case "ApplyRules":
    case "GiveUpOnRules":
      return decideReview(command, draft);
    case "EscalateDraft":
    case "RequestNotify":
    case "AskApprovers":
    case "RecordNotified":
    case "RecordNotificationFailed":
      return decideNotification(command, draft);
    case "QueueDraft":
    case "RequeueDraft":
    case "AbandonSend":
    case "HoldSend":
    case "MarkStale":
    case "RecordSent":
    case "FailDraft":
    case "WithdrawDraft":
    case "RecordLateEvidence":
      return decideSending(command, draft);
    default:
      return unreachable(command);
  }
}

function submit(submitted: SubmitDraft["draft"]): DraftEvent[] {
  const event: DraftEvent = { type: "DraftSubmitted", data: submitted };
  if (!submitted.approvedAtOnce) return [event];
  const { contentSha256 } = submitted;
  const approved = { version: 1, contentSha256, sendRequested: false, tokenSha256: null };
  return [event, { type: "DraftApproved", data: approved }];
}

export const draftDecider: Decider<Draft, DraftCommand, DraftEvent> = { category: "draft", initial, evolve, decide };

export const drafts = stream({ decider: draftDecider, name: draftStream });
