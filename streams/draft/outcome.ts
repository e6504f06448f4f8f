import { unreachable } from "../unreachable.ts";
import type { DraftStatus } from "./draft.ts";
import type { DraftEvent } from "./events.ts";

/** A draft's outcome, as far as its thread's status follows it. A sent draft is reported by its message instead (RecordSent on the thread). */
export type DraftOutcome = Exclude<DraftStatus, "sent">;

/** What the thread of a draft has to know of it now; null if that is nothing more: its mail has left. */
export const outcomeOf = ({ status }: { status: DraftStatus }): DraftOutcome | null =>
  status === "sent" ? null : status;

/** Whether a draft in this state is decided about no more, but for a stale one that is rejected. */
export const isEnd = (status: DraftStatus): boolean =>
  status === "sent" || status === "rejected" || status === "stale" || status === "failed";

/**
 * What an event of a draft makes of it for its thread; null if it stays as it was. A draft that is approved by its very submission was
 * never pending for anybody.
 */
export function outcomeAfter(event: DraftEvent): DraftOutcome | null {
  switch (event.type) {
    case "DraftSubmitted":
      return event.data.autoApproved || event.data.approvedAtOnce ? "approved" : "pending";
    case "DraftEdited":
    case "DraftReturnedToPending":
      return "pending";
    case "DraftApproved":
      return "approved";
    case "DraftRejected":
      return "rejected";
    case "DraftQueued":
      return "sending";
    case "DraftMarkedStale":
      return "stale";
    case "DraftFailed":
      return "failed";
    case "ApprovalGiven":
    case "ApprovalWithdrawn":
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
