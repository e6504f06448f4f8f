import { Rejected } from "../decider.ts";
import { unreachable } from "../unreachable.ts";
import { contentChanged, type Draft, isUndecidedChange, requireStatus } from "./draft.ts";
import type { DraftEvent } from "./events.ts";
import { requireQuorum } from "./quorum.ts";
import { requireUndoOver } from "./undo.ts";

/** A draft on its way out. Who may hand over is decided by the claim on the thread and the delivery's own stream. */
export type SendingCommand =
  | {
      type: "QueueDraft";
      queued: Extract<DraftEvent, { type: "DraftQueued" }>["data"];
      /** The send is itself a decision on the version that the service made last: its key named that, or wrote the mail by this very call. */
      decides?: boolean;
      /** How many approvals the identity requires now; absent: one. */
      approvalsRequired?: number;
      /** Now (ISO 8601); absent: whether an approval can still be taken back is not asked. */
      at?: string;
    }
  | { type: "RequeueDraft"; attemptId: string; replaces: string; tries: number }
  | { type: "AbandonSend"; attemptId: string; because: string }
  | { type: "HoldSend"; code: string; message: string }
  /** `attemptId`: the hand-over under way as the judge saw it, null for none. Another one may have got past the newer message. */
  | { type: "MarkStale"; newMessageId: string; attemptId: string | null }
  | { type: "RecordSent"; attemptId: string; rfcMessageId: string; sentAt: string }
  | { type: "FailDraft"; attemptId: string | null; code: string; message: string }
  /** It could not be queued when it was asked for, and must not leave later. */
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
      // A queued draft is never taken back: the attempts it was queued under end by their deliveries' outcomes, and no late queueing is accepted.
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
 * Refuses a plain send of what nobody decided on: it answers the same whether the service made the new version before the send or during
 * it. Throws Rejected content_changed.
 */
export function requireDecided(draft: Draft, decides: boolean): void {
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
  requireDecided(draft, decides);
  if (at !== undefined) requireUndoOver(draft, at);
  requireClaimed(queued, draft);
  requireQuorum(draft, approvalsRequired, queued.authorisation);
  const approved = draft.status === "approved";
  if (queued.authorisation.kind !== "api_key" && !approved) {
    throw new Rejected("invalid_status", "this draft is no longer approved", { status: draft.status });
  }
  return [{ type: "DraftQueued", data: queued }];
}

/** The claim and the quota stand for one version and hash. A newer version has to be claimed, and judged, as such. */
function requireClaimed(queued: Extract<DraftEvent, { type: "DraftQueued" }>["data"], draft: Draft): void {
  if (queued.version === draft.version && queued.contentSha256 === draft.contentSha256) return;
  if (queued.version < draft.version && draft.authoredVersion <= queued.version) {
    // Nobody edited it: the send is for this draft as its identity is now, and is judged again on that.
    throw new Rejected("send_in_progress", "the service has just updated this draft");
  }
  const { version, contentSha256 } = draft;
  throw new Rejected("content_changed", `this draft has just changed: review version ${version}`, {
    version,
    content_sha256: contentSha256,
  });
}
