import type { DeliveryEvent } from "#streams/delivery/events.ts";
import type { DraftEvent } from "#streams/draft/events.ts";
import type { ThreadEvent } from "#streams/thread/events.ts";

/** Event types in GET /v1/drafts/{id}/history. Exhaustive: a missing type does not compile. */
type HistoryEventType =
  | DraftEvent["type"]
  | DeliveryEvent["type"]
  | Extract<ThreadEvent["type"], "SendClaimed" | "SendClaimReleased">;

export const historyTypes: Record<HistoryEventType, string> = {
  DraftSubmitted:
    "The agent submitted the draft; `content` is the mail to be sent, `warnings` are the kinds of warnings found in it.",
  DraftEdited:
    "A new version, with `changed_fields` and its `warnings`; `because` is the reason: `edit` or `identity_changed`.",
  DraftRulesBegun: "The rules of draft.created were started; the draft waits for them.",
  DraftRulesApplied: "The rules of draft.created have run; `mode` is their decision about its approval.",
  ApproversAsked: "A notification was created for a channel. It is not delivered yet.",
  ApproversNotified: "That notification reached its channel.",
  NotificationFailed:
    "That notification did not reach its channel, or its mail bounced; with `final` it is not tried again. Its error begins with `link_leaked` or `wrong_codes` if links were closed twice.",
  ApprovalLinkClosed:
    "The links of that notification were closed: one was found in inbound mail (`link_leaked`, with `message_id`), or five wrong codes were entered (`wrong_codes`).",
  ConfirmCodeRefused: "A wrong code was entered on the page of that notification.",
  NotifyRequested:
    "A request to notify the approvers again. With `slot` and `notification_id` it came from the page of that notification's expired link.",
  RequestsRepeated:
    "Every request about the version ran out without a decision, so its approvers are asked once more. `until` is the time until which links made then work.",
  RequestsExpired: "Every request about the version ran out without a decision, and nobody is asked again by itself.",
  DraftEscalated:
    "The secondary channel was notified, because the draft was not decided in time, the first channel could not be reached, or several have to approve.",
  ApprovalGiven:
    "One of several approvals that the identity requires (`required`); the draft stays pending until there are enough. The approval counts once for `voter`.",
  ApprovalWithdrawn: "A signed-in person undid their own approval while others were still missing.",
  ChangesRequested:
    "An approver asked for changes to this version, in the words of `text`. Until the draft is edited or the request is withdrawn, it cannot be approved or sent. `requester` is the approver's voter name.",
  ChangesRequestWithdrawn: "The approver withdrew the request for changes.",
  DraftAssigned:
    "The draft was assigned to the member in `assignee`, or to nobody (null): a sign to colleagues, which restricts nobody.",
  ChangesReminded: "The changes were not made in time: the approver who had asked for them was reminded.",
  DraftApproved:
    "The version with this number and hash was approved; `send_requested` if the approval also sends; `granted_by` names the run and the rule if a rule approved; `quorum` names all whose approvals were required, and the actor is the last of them; `approver` if a person approved in the console or on a link's page, and `send_after` if they could undo it until then; `sheet` if they decided about several drafts on one page.",
  DraftRejected: "Rejected, with the reason if one was given.",
  DraftReturnedToPending:
    "An approval is no longer valid, for the reason in `because`: for example, the rule or setting that gave it no longer approves. The draft has to be decided again. `withdrawn` if a signed-in person undid their own approval, `lapsed` if the signed-in people it names may no longer approve. `because` is `answered_meanwhile` if the message was answered after the approval, by the drafts in `answered_by`.",
  SendHeld: "An approved draft could not be sent now, and why.",
  SendClaimed: "The thread was claimed for sending: from here on, newer mail stops the send.",
  SendClaimReleased: "The claim was released.",
  DraftQueued: "The draft was queued, with its authorisation, content and hash.",
  DraftRequeued: "A new attempt replaced the previous one.",
  SendAbandoned: "An attempt was abandoned before the mail was queued.",
  DraftMarkedStale: "The customer wrote again; `new_message_id` is that message.",
  DeliveryStarted:
    "The hand-over to the provider began. `mime_sha256` is the hash of the bytes. There is at most one in an attempt.",
  DeliveryAbandoned: "Nothing was or will be handed over in this attempt.",
  DeliveryNotHandedOver:
    "Nothing was handed over: the connection failed before the first byte, or, with `withheld`, the approval no longer held or the customer had written.",
  DeliveryAccepted: "The provider accepted the mail.",
  DeliveryRefused: "The provider refused it, for good or for now (`retryable`).",
  DeliveryUnknown: "It is not known whether the provider accepted the mail. It is never sent again.",
  DeliverySettled: "Evidence of the outcome of a hand-over whose outcome was unknown.",
  DeliveryProcessed: "The provider reported that it has the mail.",
  DeliveryDelivered: "The recipient's server confirmed it.",
  DeliveryDelayed: "A server could not deliver it yet, and tries again.",
  DeliveryDropped: "The provider reported that it will not deliver it, and why.",
  DeliveryBounced: "The mail bounced.",
  DeliveryComplained: "The recipient reported the mail as spam.",
  DeliveryMessageIdLearned: "The provider sent it with another Message-ID, whose answers join its thread too.",
  DraftSent: "The draft was sent.",
  DraftFailed:
    "The draft failed, with a code: `unconfirmed`, `identity_deleted`, `provider_unavailable`, `provider_credentials`, `approval_withdrawn` (the rule or setting that approved it no longer does, or since a key approved it a person has to, or the signed-in person who approved it may not any more, and nothing had left), `internal`, or the provider's own.",
  LateEvidence: "The outcome that became known after the draft failed as `unconfirmed`; it stays failed.",
};
