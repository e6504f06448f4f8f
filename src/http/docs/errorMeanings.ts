import type { ErrorCode } from "../framework/errors.ts";

/** The meaning of each code for clients, and what to do. Exhaustive: a missing code does not compile. */
export const errorMeanings: Record<ErrorCode, string> = {
  unauthorized: "The key is missing, malformed or revoked. Do not try again with it.",
  insufficient_scope: "The key lacks the scope that the message names. Use another key.",
  plan_limit_reached:
    "The plan's cap is reached; `upgrade_url` says where to change it, the header `Plan-Status` says what its status is (`past_due`: a payment is due).",
  not_found: "No such thing, or another workspace's. If it is about an id in the body, the message names the field.",
  stale_draft: "The customer wrote again (`new_message_id`). Read the thread, reject this draft, submit a new one.",
  content_changed:
    "The identity changed, so what would leave is not what was approved. The draft is pending again: review its `version` (`content_sha256`), then approve it, or send it with that version in If-Match.",
  idempotency_in_flight: "The first request under this Idempotency-Key has not ended. Wait, then ask again.",
  version_mismatch: "If-Match names another version than the draft has. Read it again.",
  payload_too_large: "The body is over the limit that the message names.",
  invalid_request: "A field or parameter is wrong; the message begins with it and says what was expected.",
  invalid_status: "The draft's or webhook's state does not allow this; the message names it.",
  assistant_disabled: "The assistant that this identity is linked to is disabled. Set its status to active first.",
  identity_not_active:
    "The identity cannot send: it is disabled, deleted or above the plan's cap, or its domain is not verified any more. The message says which.",
  validation: "A rule's trigger_event is not a known trigger, or its conditions or actions are over 10 KB.",
  invalid_plan: "Expected pro or agency.",
  invalid_interval: "Expected monthly or annual.",
  stripe_customer_missing: "The payment processor does not know this workspace yet. Try again shortly.",
  human_approval_required: "A person decides here. Wait for the approvers.",
  approvals_missing:
    "More approvers have to approve it first (`approvals_required` of the identity); this send counted as the keys' approval. Once the draft is approved, send it with a new Idempotency-Key.",
  sending_paused:
    "Sending is paused, by the workspace or by the operator of the service. An approved draft leaves when the pause ends.",
  cold_send_not_allowed:
    "This identity may only answer. Reply on a thread, or send from an identity that was created with can_send_cold.",
  loop_guarded: "This thread has answered a machine before. A person should look at it.",
  idempotency_mismatch:
    "This Idempotency-Key was used with another body, or its answer holds a secret that only the API key that asked is told again. Use a new one.",
  rate_limited: "Too many requests, or approvers notified a moment ago. Wait `Retry-After` seconds.",
  internal_error: "Our fault. Report the request_id.",
  stripe_error: "The payment processor failed. Try again.",
  unavailable:
    "A part of the service is away, or it is catching up with its event log after a start; then the message says how far it is. Wait `Retry-After` seconds. With `recorded: true` the write has happened: read, do not write again.",
};
