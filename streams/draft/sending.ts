import { Rejected } from "../decider.ts";
import { unreachable } from "../unreachable.ts";
import { requireNoChangesRequest } from "./changesRequest.ts";
import { contentChanged, type Draft, isUndecidedChange, requireStatus } from "./draft.ts";
import type { DraftEvent } from "./events.ts";
import { requireQuorum } from "./quorum.ts";
import { requireUndoOver } from "./undo.ts";

/** Commands of a send. The claim on the thread and the delivery's own stream decide who may hand over. */
export type SendingCommand =
  | {
      type: "QueueDraft";
      queued: Extract<DraftEvent, { type: "DraftQueued" }>["data"];
      /**
       * Set if the send is itself a decision on the version that the service made last: the key named that version, or wrote the mail by
       * this call.
       */
      decides?: boolean;
      /** Number of approvals the identity requires now; one if absent. */
      approvalsRequired?: number;
      /** Current time (ISO 8601); if absent, it is not checked whether an approval can still be taken back. */
      at?: string;
    }
  | { type: "RequeueDraft"; attemptId: string; replaces: string; tries: number }
  | { type: "AbandonSend"; attemptId: string; because: string }
  | { type: "HoldSend"; code: string; message: string }
  /**
   * `attemptId`: the hand-over in progress as the caller saw it, null if none. Another one may have passed the stale check before the newer
   * message.
   */
  | { type: "MarkStale"; newMessageId: string; attemptId: string | null }
  | { type: "RecordSent"; attemptId: string; rfcMessageId: string; sentAt: string }
  | { type: "FailDraft"; attemptId: string | null; code: string; message: string }
  /** The draft could not be queued when requested, and must not be sent later. */
  | { type: "WithdrawDraft"; code: string; message: string }
  | { type: "RecordLateEvidence"; attemptId: string; outcome: "accepted" | "refused" };

export function decideSending(command: SendingCommand, draft: Draft): DraftEvent[] {
  switch (command.type) {
    case "QueueDraft":
      return queue(command, draft);
    case "RequeueDraft":
      if (draft.attemptId === command.attemptId) return [];
      requireStatus(draft, "queued again", "sending");
      if (draft.attemptId !== command.replaces) {
        throw new Rejected("send_in_progress", "another attempt has replaced this one");
      }
      return [
        {
          type: "DraftRequeued",
          data: { attemptId: command.attemptId, replaces: command.replaces, tries: command.tries },
        },
      ];
    case "AbandonSend":
      // A queued draft is never taken back: the attempts it was queued under end by their deliveries' outcomes, and no late queueing is
      // accepted.
      if (draft.attemptId !== null || draft.abandoned.includes(command.attemptId)) return [];
      return [{ type: "SendAbandoned", data: { attemptId: command.attemptId, because: command.because } }];
    case "HoldSend":
      if (draft.status !== "approved" || draft.held === command.code) return [];
      return [{ type: "SendHeld", data: { code: command.code, message: command.message } }];
    case "MarkStale":
      if (draft.status === "stale") return [];
      requireStatus(draft, "marked stale", "pending", "approved", "sending");
      if (draft.attemptId !== command.attemptId) requireStatus(draft, "marked stale", "pending", "approved");
      return [{ type: "DraftMarkedStale", data: { newMessageId: command.newMessageId } }];
    case "RecordSent": {
      if (draft.status !== "sending" || draft.attemptId !== command.attemptId) return [];
      const { type: _, ...sent } = command;
      return [{ type: "DraftSent", data: sent }];
    }
    case "FailDraft":
      if (draft.status !== "sending" && draft.status !== "approved" && draft.status !== "pending") return [];
      if (command.attemptId !== null && draft.attemptId !== command.attemptId) return [];
      return [
        {
          type: "DraftFailed",
          data: { attemptId: command.attemptId, code: command.code, message: command.message },
        },
      ];
    case "WithdrawDraft":
      if (draft.status !== "approved" && draft.status !== "pending") return [];
      return [{ type: "DraftFailed", data: { attemptId: null, code: command.code, message: command.message } }];
    case "RecordLateEvidence":
      if (draft.status !== "failed" || draft.attemptId !== command.attemptId) return [];
      if (draft.lateEvidence === command.outcome) return [];
      return [{ type: "LateEvidence", data: { attemptId: command.attemptId, outcome: command.outcome } }];
    default:
      return unreachable(command);
  }
}

/**
 * Refuses a plain send of an undecided version. The result is the same whether the service made the version before the send or during it.
 * Throws Rejected content_changed.
 */
export function requireDecidedVersion(draft: Draft, decides: boolean): void {
  if (!decides && isUndecidedChange(draft)) throw contentChanged(draft);
}

function queue(
  { queued, decides = false, approvalsRequired = 1, at }: Extract<SendingCommand, { type: "QueueDraft" }>,
  draft: Draft,
): DraftEvent[] {
  if (draft.attemptId === queued.attemptId) return [];
  requireStatus(draft, "sent", "pending", "approved");
  if (draft.abandoned.includes(queued.attemptId)) {
    throw new Rejected("send_in_progress", "this attempt was abandoned");
  }
  requireNoChangesRequest(draft);
  requireDecidedVersion(draft, decides);
  if (at !== undefined) requireUndoOver(draft, at);
  requireClaimed(queued, draft);
  requireQuorum(draft, approvalsRequired, queued.authorisation);
  const approved = draft.status === "approved";
  if (queued.authorisation.kind !== "api_key" && !approved) {
    throw new Rejected("invalid_status", "this draft is no longer approved", { status: draft.status });
  }
  return [{ type: "DraftQueued", data: queued }];
}

/**
 * Requires that the claim and the quota are for the draft's current version and hash. A newer version must be claimed and checked as such.
 */
function requireClaimed(queued: Extract<DraftEvent, { type: "DraftQueued" }>["data"], draft: Draft): void {
  if (queued.version === draft.version && queued.contentSha256 === draft.contentSha256) return;
  if (queued.version < draft.version && draft.authoredVersion <= queued.version) {
    // No author edited it: the send is for the draft as its identity is now, and is checked again.
    throw new Rejected("send_in_progress", "the service has just updated this draft");
  }
  const { version, contentSha256 } = draft;
  throw new Rejected("content_changed", `this draft has just changed: review version ${version}`, {
    version,
    content_sha256: contentSha256,
  });
}
