import { unreachable } from "../unreachable.ts";
import type { DraftStatus } from "./draft.ts";
import type { DraftEvent } from "./events.ts";

/**
 * A draft's outcome, as far as its thread's status follows it. That a draft is being sent, or was sent, is on the thread already: the claim of its send
 * (ClaimSend) and its message (RecordSent) are events of the thread.
 */
export type DraftOutcome = Exclude<DraftStatus, "sending" | "sent">;

/** The outcome that the thread of a draft has to be told; null if the thread's own events say it. */
export const outcomeOf = ({ status }: { status: DraftStatus }): DraftOutcome | null =>
  status === "sending" || status === "sent" ? null : status;

/** Whether a draft in this state is decided about no more, but for a stale one that is rejected. */
export const isEnd = (status: DraftStatus): boolean =>
  status === "sent" || status === "rejected" || status === "stale" || status === "failed";

/**
 * The outcome that an event of a draft gives it for its thread; null if the thread is not told. A draft that is approved by its very submission was
 * never pending for anybody. A later approval changes nothing on the thread: the claim of the send follows it.
 */
export function outcomeAfter(event: DraftEvent): DraftOutcome | null {
  switch (event.type) {
    case "DraftSubmitted":
      return event.data.autoApproved || event.data.approvedAtOnce ? "approved" : "pending";
    case "DraftEdited":
    case "DraftReturnedToPending":
      return "pending";
    case "DraftRejected":
      return "rejected";
    case "DraftMarkedStale":
      return "stale";
    case "DraftFailed":
      return "failed";
    case "ApprovalGiven":
    case "ApprovalWithdrawn":
    case "DraftApproved":
    case "DraftQueued":
    case "DraftRequeued":
    case "DraftSent":
    case "SendHeld":
    case "SendAbandoned":
    case "LateEvidence":
    case "DraftRulesBegun":
    case "DraftRulesApplied":
    case "DraftEscalated":
    case "NotifyRequested":
    case "ApproversAsked":
    case "ApproversNotified":
    case "NotificationFailed":
    case "ApprovalLinkClosed":
    case "ConfirmCodeRefused":
      return null;
    default:
      return unreachable(event);
  }
}
