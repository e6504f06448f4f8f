import type { DraftEvent } from "#streams/draft/events.ts";

/** Types of the events that change a draft's row. */
export const draftTypes: readonly DraftEvent["type"][] = [
  "DraftSubmitted",
  "DraftEdited",
  "ApprovalGiven",
  "ApprovalWithdrawn",
  "ChangesRequested",
  "ChangesRequestWithdrawn",
  "ChangesReminded",
  "DraftAssigned",
  "DraftApproved",
  "DraftRejected",
  "DraftReturnedToPending",
  "SendHeld",
  "DraftQueued",
  "DraftMarkedStale",
  "DraftSent",
  "DraftFailed",
  "LateEvidence",
  "DraftEscalated",
  "ApproversAsked",
  "ApproversNotified",
  "NotificationFailed",
  "NotifyRequested",
  "ApprovalLinkClosed",
];
