import type { DeliveryEvent } from "#streams/delivery/events.ts";
import type { DraftEvent } from "#streams/draft/events.ts";
import type { ThreadEvent } from "#streams/thread/events.ts";

/** Event types in GET /v1/drafts/{id}/history. Exhaustive: a missing type does not compile. */
type HistoryEventType =
  | DraftEvent["type"]
  | DeliveryEvent["type"]
  | Extract<ThreadEvent["type"], "SendClaimed" | "SendClaimReleased">;

export const historyTypes: Record<HistoryEventType, string> = {
  DraftSubmitted: "The agent submitted it; `content` is what would be sent.",
  DraftEdited: "A new version, with `changed_fields`; `because` says why: `edit` or `identity_changed`.",
  DraftRulesBegun: "The turn of the rules of draft.created has come; the draft waits for them.",
  DraftRulesApplied: "The rules of draft.created have run; `mode` is what they said about its approval.",
  ApproversAsked: "A notification was made for a channel. Not yet delivered.",
  ApproversNotified: "That notification reached its channel.",
  NotificationFailed:
    "It did not, or its mail came back; `final` says that it is not tried again. Its error begins with `link_leaked` or `wrong_codes` where links were closed twice.",
  ApprovalLinkClosed:
    "The links of that notification decide nothing any more: one was found in inbound mail (`link_leaked`, with `message_id`), or five wrong codes were typed (`wrong_codes`).",
  ConfirmCodeRefused: "A wrong code was typed on the page of that notification.",
  NotifyRequested: "Somebody asked to notify the approvers once more.",
  DraftEscalated:
    "Nobody decided in time, the first channel could not be reached, or several have to approve; the secondary channel was asked.",
  ApprovalGiven:
    "One of several approvals that the identity requires (`required`); the draft stays pending until there are enough. `voter` is whom it counts for, once.",
  ApprovalWithdrawn: "A signed-in person took their own approval back while others were still missing.",
  DraftApproved:
    "Approved, as the version and hash it names; `send_requested` if the approval also sends; `granted_by` names the run and the rule if a rule approved; `quorum` names all whose approvals were required, and the actor is the last of them; `approver` if a signed-in person approved, and `send_after` if they could take it back until then.",
  DraftRejected: "Rejected, with the reason if one was given.",
  DraftReturnedToPending:
    "An approval no longer holds, and `because` says why: for example because the rule or setting that gave it no longer does. It has to be decided again. `withdrawn` if a signed-in person took their own approval back, `lapsed` if the signed-in people whom it names may not approve any more. `because` is `answered_meanwhile` if the message was answered after the approval, by the drafts in `answered_by`.",
  SendHeld: "An approval that could not be sent now, and why.",
  SendClaimed: "A send took its place on the thread: from here no newer mail goes unseen.",
  SendClaimReleased: "That place was given back.",
  DraftQueued: "On its way: the authorisation, the content and the hash it leaves with.",
  DraftRequeued: "A further attempt took the place of the one before.",
  SendAbandoned: "An attempt was given up before it left.",
  DraftMarkedStale: "The customer wrote again; `new_message_id` is that message.",
  DeliveryStarted:
    "The hand-over to the provider began, of the bytes that hash to `mime_sha256`. There is at most one in an attempt.",
  DeliveryAbandoned: "Nothing was handed over under this attempt, and nothing will be.",
  DeliveryNotHandedOver:
    "Nothing was handed over: the connection failed before the first byte, or, with `withheld`, the approval no longer held or the customer had written.",
  DeliveryAccepted: "The provider took it.",
  DeliveryRefused: "The provider refused it, for good or for now (`retryable`).",
  DeliveryUnknown: "Nobody knows whether it was taken. It is never sent again.",
  DeliverySettled: "Evidence told how an unknown hand-over ended.",
  DeliveryProcessed: "The provider reported that it has the mail.",
  DeliveryDelivered: "The recipient's server confirmed it.",
  DeliveryDropped: "The provider reported that it will not deliver it, and why.",
  DeliveryBounced: "It came back.",
  DeliveryComplained: "The recipient marked it as unwanted.",
  DeliveryMessageIdLearned: "The provider sent it with another Message-ID, whose answers join its thread too.",
  DraftSent: "The draft ended sent.",
  DraftFailed:
    "It ended failed, with a code: `unconfirmed`, `identity_deleted`, `provider_unavailable`, `provider_credentials`, `approval_withdrawn` (the rule or setting that approved it no longer does, or since a key approved it a person has to, or the signed-in person who approved it may not any more, and nothing had left), `internal`, or the provider's own.",
  LateEvidence: "What became known after it had ended failed as `unconfirmed`; it stays failed.",
};
