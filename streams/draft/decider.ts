import type { Decider } from "../decider.ts";
import { Rejected } from "../decider.ts";
import { stream } from "../stream.ts";
import { unreachable } from "../unreachable.ts";
import { type AssignDraft, assignDraft } from "./assignee.ts";
import { type ChangesCommand, decideChanges } from "./changesRequest.ts";
import type { Draft } from "./draft.ts";
import { type DraftEvent, draftStream } from "./events.ts";
import { evolveDraft, initialDraft } from "./evolve.ts";
import { decideExpiry, type ExpiryCommand } from "./expiry.ts";
import { decideNotification, type NotificationCommand } from "./notification.ts";
import { type AuthorApproval, decideReview, type ReviewCommand, rulesApplied, submitApproved } from "./review.ts";
import { decideSending, type SendingCommand } from "./sending.ts";

/** `word`: approval of the signed-in person who wrote it, by the same act. */
export type SubmitDraft = {
  type: "SubmitDraft";
  draft: Extract<DraftEvent, { type: "DraftSubmitted" }>["data"];
  authorApproval?: AuthorApproval;
  /** Set if no rules apply: its rules count as run. */
  withoutRules?: true;
};
export type DraftCommand =
  | SubmitDraft
  | AssignDraft
  | ReviewCommand
  | ChangesCommand
  | SendingCommand
  | NotificationCommand
  | ExpiryCommand;

function decide(command: DraftCommand, draft: Draft): DraftEvent[] {
  if (command.type === "SubmitDraft") {
    return draft.exists ? [] : submit(command);
  }
  if (!draft.exists) throw new Rejected("not_found", "no such draft");
  switch (command.type) {
    case "AssignDraft":
      return assignDraft(command, draft);
    case "EditDraft":
    case "ApproveDraft":
    case "EditAndApprove":
    case "UndoApproval":
    case "RejectDraft":
    case "ReturnToPending":
    case "WithdrawApproval":
    case "AskAgain":
    case "BeginRules":
    case "ApplyRules":
    case "GiveUpOnRules":
      return decideReview(command, draft);
    case "RequestChanges":
    case "WithdrawChangesRequest":
    case "RemindOfChanges":
      return decideChanges(command, draft);
    case "EscalateDraft":
    case "RequestNotify":
    case "AskApprovers":
    case "RecordNotified":
    case "RecordNotificationFailed":
    case "CloseApprovalLink":
    case "RefuseConfirmCode":
      return decideNotification(command, draft);
    case "ExpireRequests":
    case "RenewRequest":
      return decideExpiry(command, draft);
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

function submit({ draft: submitted, authorApproval, withoutRules }: SubmitDraft): DraftEvent[] {
  const event: DraftEvent = { type: "DraftSubmitted", data: submitted };
  if (authorApproval) return submitApproved(submitted, authorApproval);
  if (withoutRules) return [event, rulesApplied(null)];
  if (!submitted.approvedAtOnce) return [event];
  const { contentSha256 } = submitted;
  const approved = { version: 1, contentSha256, sendRequested: false, tokenSha256: null };
  return [event, { type: "DraftApproved", data: approved }];
}

export const draftDecider: Decider<Draft, DraftCommand, DraftEvent> = {
  category: "draft",
  initial: initialDraft,
  evolve: evolveDraft,
  decide,
};

export const drafts = stream({ decider: draftDecider, name: draftStream, begunBy: ["SubmitDraft"] });
