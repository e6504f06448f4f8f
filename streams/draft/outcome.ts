import { unreachable } from "../unreachable.ts";
import type { DraftStatus } from "./draft.ts";
import type { DraftEvent } from "./events.ts";

/**
 * Outcome of a draft, as far as its thread's status follows it. A send in progress, or done, is on the thread already: the claim of its
 * send (ClaimSend) and its message (RecordSent) are events of the thread.
 */
export type DraftOutcome = Exclude<DraftStatus, "sending" | "sent">;

/** Returns the outcome to report to the draft's thread; null if the thread's own events show it. */
export const outcomeOf = ({ status }: { status: DraftStatus }): DraftOutcome | null =>
  status === "sending" || status === "sent" ? null : status;

/** True if a draft of this status has ended. A stale one can still be rejected. */
export const isEnd = (status: DraftStatus): boolean =>
  status === "sent" || status === "rejected" || status === "stale" || status === "failed";

/**
 * Returns the outcome that an event gives a draft for its thread; null if the thread is not updated. A draft that is approved by its
 * submission was never pending. A later approval changes nothing on the thread: the claim of the send follows it.
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
    case "RequestsRepeated":
    case "RequestsExpired":
    case "ApproversAsked":
    case "ApproversNotified":
    case "NotificationFailed":
    case "ApprovalLinkClosed":
    case "ConfirmCodeRefused":
    case "DraftAssigned":
    case "ChangesRequested":
    case "ChangesRequestWithdrawn":
    case "ChangesReminded":
      return null;
    default:
      return unreachable(event);
  }
}
