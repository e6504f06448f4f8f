/**
 * Every row of the contract's sections 3 to 9, once, by hand. A test proves a row by carrying its id in square brackets in
 * its own title or in that of a describe around it: `[7 409 stale_draft]`. Path parameters are written {id}.
 */
export type ContractRow = {
  id: string;
  /** Text of the contract's row, shortened. */
  says: string;
  /** Why no test proves it yet, where it is left to a later part of the product. */
  later?: string;
};

const of = (section: number, said: Record<string, string>, later?: string): ContractRow[] =>
  Object.entries(said).map(([row, says]) => ({
    id: `${section} ${row}`,
    says,
    ...(later === undefined ? {} : { later }),
  }));

const states = of(3, {
  "(none) -> pending":
    "submission: approvers are notified, draft.created, the thread becomes draft_pending, stale_warning",
  "(none) -> approved": "submission with auto_approve_replies: queued at once, limits and stale check still run",
  "pending -> approved": "approve does not send; draft.approved",
  "pending -> pending": "an edit snapshots the prior state",
  "pending -> sending": "send of a pending draft: 202, delivery queued",
  "approved -> sending": "send of an approved draft: 202, delivery queued",
  "pending -> stale": "send of a pending draft after a newer inbound: 409 stale_draft, the webhook fires",
  "approved -> stale": "send of an approved draft after a newer inbound: 409 stale_draft",
  "pending -> rejected": "the reason is stored, the thread is open again, the webhook fires",
  "sending -> sent": "the provider accepted: draft.sent",
  "sending -> failed": "the provider returned an error",
  "pending -> approved by skip_approval": "a matching rule approves and queues the send",
  "only pending drafts are edited": "any other state answers 422 invalid_status",
  "thread (none) -> open": "a new thread is open",
  "thread -> waiting": "an outbound message was sent",
  "thread -> draft_pending": "a draft awaits human approval",
  "thread draft rejected -> open": "a rejected draft opens its thread",
  "thread -> set_thread_status": "a rule's action forces the status",
  needs_review: "new inbound on a closed thread asks for a person",
  "identity active": "created identities are active",
  "identity disabled": "set by PATCH; it cannot send",
  "rule status": "active or inactive, by create or PATCH",
  "domain status": "transitions as decided",
  plan_status: "trialing, active, past_due, canceled",
});

const endpoints = [
  ...of(4, {
    "POST /v1/api-keys": "name; the key once",
    "GET /v1/api-keys": "prefix only",
    "DELETE /v1/api-keys/{id}": "immediate, permanent, requests in flight fail with 401",
    "PATCH /v1/workspaces/me": "name",
    "POST /v1/domains": "domain_name, inbound_subdomain",
    "GET /v1/domains": "envelope; limit, offset",
    "GET /v1/domains/{id}": "dns_records with their status",
    "POST /v1/domains/{id}/verify": "an asynchronous DNS check",
    "POST /v1/identities": "201; the create body",
    "GET /v1/identities": "envelope; domain_id, status, limit, offset",
    "GET /v1/identities/{id}": "an identity",
    "PATCH /v1/identities/{id}": "only provided fields change; local_part and email_address never",
    "DELETE /v1/identities/{id}": "the record goes, its history stays, its address is dead",
    "POST /v1/identities/{id}/test-email": "202 with task_id; the identity must be active",
    "GET /v1/threads": "filters, last_message_at descending, nulls last, empty envelope for a new key",
    "GET /v1/threads/{id}": "messages ascending, drafts descending",
    "POST /v1/drafts": "201; the create body",
    "GET /v1/drafts": "thread_id, identity_id, status, limit, offset",
    "GET /v1/drafts/{id}": "a draft",
    "PATCH /v1/drafts/{id}": "body_text, body_html, subject_override, cc, bcc, rationale; only pending",
    "POST /v1/drafts/{id}/approve": "approves; does not deliver",
    "POST /v1/drafts/{id}/reject": "optional reason",
    "POST /v1/drafts/{id}/send": "202 {draft_id, thread_id, status, queued_at}",
    "POST /v1/drafts/{id}/notify": "notifies the approvers again",
    "GET /v1/drafts/{id}/versions": "snapshots of the edits",
    "drafts create body": "thread_id, identity_id, based_on_message_id, a body; the rest is optional",
    "stale detection": "a soft check at submission, a hard one at send",
    "POST /v1/rules": "a rule with the contract's defaults",
    "GET /v1/rules": "trigger_event, status; priority ascending",
    "GET /v1/rules/{id}": "a rule",
    "PATCH /v1/rules/{id}": "only provided fields change",
    "DELETE /v1/rules/{id}": "removes the rule",
    "rule evaluation": "active rules of the trigger, by priority, stop_after_match, in the background",
    "condition tree": "groups of AND and OR with leaves {field, op, value}",
    "fields email.received": "message, thread, contact and identity fields",
    "fields draft.created": "thread, contact and identity fields",
    "fields draft.approved": "thread, contact and identity fields",
    "fields draft.stale": "thread, contact and identity fields",
    "op equals": "exact; case-insensitive for addresses",
    "op not_equals": "its opposite",
    "op contains": "case-insensitive substring",
    "op not_contains": "its opposite",
    "op starts_with, ends_with": "string",
    "op in, not_in": "the value is a list",
    "action set_thread_status": "forces the thread's state",
    "action set_approval_mode": "overrides auto_approve_replies for this draft",
    "action skip_approval": "approves the draft and queues its send",
    "action notify_channel": "an ad-hoc notification",
    "action add_tag": "tags the contact",
    "action set_priority": "low, normal, high, urgent",
    "GET /v1/billing/subscription": "the Subscription",
    "POST /v1/billing/checkout": "{checkout_url}; a 30-day trial, the card upfront, back with a session_id",
    "POST /v1/billing/portal": "{portal_url}",
    "POST /v1/emails/send": "scope write:emails",
    "POST /v1/emails/reply": "scope write:emails",
  }),
  ...of(4, { "/auth/*": "rate limited" }),
];

const authentication = of(5, {
  "Authorization header": "every request carries Bearer <API_KEY>",
  "key format": "svc_live_ and 32 alphanumeric characters, shown once, stored as a hash",
  "keys made and revoked": "POST and DELETE /v1/api-keys; revocation is immediate and permanent",
  "401 unauthorized": "missing, malformed or revoked",
  scopes: "enforced on every request",
  "read:threads": "GET threads and a thread",
  "write:drafts": "POST, PATCH, approve, reject",
  "write:emails": "emails/send, emails/reply, drafts/{id}/send",
  "read:identities": "reading identities",
  "write:identities": "creating, changing and deleting identities",
  "read:rules": "reading rules",
  "write:rules": "creating, changing and deleting rules",
  "read:billing": "GET billing/subscription",
  "404 of another workspace": "foreign resources are 404 not_found",
  "links without a key": "approve and reject links act without an API key",
});

const events = of(6, {
  "email.received": "an inbound message is parsed and stored",
  "email.sent": "an outbound message is queued",
  "email.delivered": "the provider confirmed delivery",
  "draft.created": "an agent submits a draft",
  "draft.approved": "approved by a person or automatically",
  "draft.sent": "an approved draft was delivered",
  "draft.stale": "a draft was marked stale",
  "webhook draft.stale": "fires when a send is blocked by a newer inbound",
  "webhook draft.rejected": "fires on rejection and carries the reason",
  "operation to event ties": "each operation has its event",
  "notification on submission": "submission notifies the approvers; notify repeats it",
});

const errors = [
  ...of(7, {
    envelope: "{error, message}; 402 adds upgrade_url, 409 stale_draft adds new_message_id",
    "401 unauthorized": "missing, malformed or revoked key",
    "401 insufficient_scope": "the key lacks the scope",
    "402 plan_limit_reached": "outbound quota, identities cap, rules cap; skipped under beta_override",
    "404 not_found": "missing, or in another workspace",
    "409 stale_draft": "a newer inbound since based_on_message_id",
    "409 invalid_request": "local_part@domain in use",
    "422 invalid_request": "the message names the field; bad local_part, unverified domain",
    "422 invalid_status": "send or edit in a state that does not allow it",
    "422 identity_not_active": "send from a disabled identity",
    "422 validation": "trigger_event not allowed, conditions or actions over 10 KB",
    "429 rate_limited": "Retry-After in seconds; also the notify throttle of a draft",
    "422 invalid_plan": "checkout plan",
    "422 invalid_interval": "checkout interval",
    "422 stripe_customer_missing": "no customer yet",
    "502 stripe_error": "upstream failure",
  }),
];

const limits = [
  ...of(8, { "/auth/*": "5 to 60 a minute by route" }),
  ...of(8, {
    "read endpoints": "60 a minute",
    "write endpoints": "10 to 20 a minute",
    "POST /drafts/{id}/notify": "10 a minute per workspace, and a throttle per draft",
    "POST /identities/{id}/test-email": "10 a minute",
    builder_pack: "50 out, 50 in, for a lifetime; 1 identity, 0 rules, 1 domain",
    pro: "5,000 out and 10,000 in a month; 10 identities, 25 rules, 3 domains",
    agency: "15,000 out and 30,000 in a month; 50 identities, 100 rules, 10 domains",
    outbound: "each plan's cap on what is sent",
    inbound: "each plan's cap on what is received",
    identities: "each plan's cap on identities",
    rules: "each plan's cap on rules",
    domains: "each plan's cap on domains",
    "builder pack counters never reset": "lifetime totals",
    "402 upgrade_url": "a quota exceeded",
    beta_override: "bypasses the check",
    "draft metadata": "8 KB",
    "rule conditions and actions": "10 KB each",
    thread_history_depth: "at most 20, 10 unless told",
    "list limit": "1 to 100, 20 unless told; offset from 0",
    "API key body": "32 alphanumeric characters",
  }),
];

const versioning = of(9, { "/v1 prefix": "every endpoint is under it" });

export const rows: readonly ContractRow[] = [
  ...states,
  ...endpoints,
  ...authentication,
  ...events,
  ...errors,
  ...limits,
  ...versioning,
];
