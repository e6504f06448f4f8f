import type { ErrorCode } from "../framework/errors.ts";

/** The meaning of each code for clients, and what to do. Exhaustive: a missing code does not compile. */
export const errorMeanings: Record<ErrorCode, string> = {
  unauthorized: "The key is missing, malformed or revoked. Do not try again with it.",
  insufficient_scope: "The key lacks the scope that the message names. Use another key.",
  plan_limit_reached:
    "The plan's cap is reached; `upgrade_url` is the page to change the plan, and the header `Plan-Status` has its status (`past_due`: a payment is due).",
  not_found:
    "The resource does not exist, or belongs to another workspace. For an id in the body, the message names the field.",
  stale_draft: "The customer wrote again (`new_message_id`). Read the thread, reject this draft, submit a new one.",
  content_changed:
    "The identity changed, so the mail to be sent is no longer the approved one. The draft is pending again: review its `version` (`content_sha256`), then approve it, or send it with that version in If-Match.",
  changes_requested:
    "An approver asked for changes to this version (`text`). Edit the draft; the approvers are then asked about the new version.",
  idempotency_in_flight: "The first request with this Idempotency-Key is still running. Wait, then retry.",
  version_mismatch: "If-Match does not name the draft's current version. Read the draft again.",
  payload_too_large: "The body is over the limit that the message names.",
  invalid_request: "A field or parameter is wrong; the message begins with it and says what was expected.",
  invalid_status: "The draft's or webhook's state does not allow this; the message names it.",
  assistant_disabled: "The assistant that this identity is linked to is disabled. Set its status to active first.",
  identity_not_active:
    "The identity cannot send: it is disabled, deleted or above the plan's cap, or its domain is no longer verified. The message gives the cause.",
  validation: "A rule's trigger_event is not a known trigger, or its conditions or actions are over 10 KB.",
  invalid_plan: "Expected pro or agency.",
  invalid_interval: "Expected monthly or annual.",
  stripe_customer_missing: "The payment processor does not know this workspace yet. Retry shortly.",
  human_approval_required: "A person has to decide. Wait for the approvers.",
  approvals_missing:
    "More approvers have to approve it first (`approvals_required` of the identity); this request counted as the approval by API keys. Once the draft is approved, send it with a new Idempotency-Key.",
  sending_paused:
    "Sending is paused, by the workspace or by the operator of the service. An approved draft is sent when the pause ends.",
  cold_send_not_allowed:
    "This identity may only reply. Reply on a thread, or send from an identity that was created with can_send_cold.",
  loop_guarded:
    "The other side seems to be a machine: an automatic mail on this thread was already answered once, or the address got as many answers without a person's approval as it may; then `ends_at` says from when one more is possible. A person should read the thread, and may approve the answer.",
  idempotency_mismatch:
    "This Idempotency-Key was used with another body, or its response contains a secret that only the first API key can get again. Use a new Idempotency-Key.",
  rate_limited: "Too many requests, or the approvers have just been notified. Wait `Retry-After` seconds.",
  internal_error: "An internal error. Report the request_id to the operator.",
  stripe_error: "The payment processor failed. Try again.",
  unavailable:
    "A part of the service is unavailable, or the service is catching up with its event log after a start (the message has the progress). Wait `Retry-After` seconds. With `recorded: true` the write was made: read, do not write again.",
};
