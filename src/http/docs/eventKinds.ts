import type { WebhookEventType } from "#streams/webhook/events.ts";

const draft = ["draft_id", "thread_id", "identity_id"];
const mail = [...draft, "message_id"];
const thread = ["thread_id", "identity_id"];
const domain = ["domain_id", "domain_name"];
const content = ["version", "content_sha256"];

/** When each kind of event that webhooks receive occurs, and the fields of its `data`. */
export const eventKinds: Record<WebhookEventType, { when: string; data: readonly string[] }> = {
  "email.received": {
    when: "A message that is somebody's word arrived, not from a blocked contact. `kind` is `customer` (also by a mailing list), `program`, `altered_copy` or `filed_by_hand`.",
    data: [
      ...thread,
      ...[
        "message_id",
        "from_email",
        "subject",
        "classification",
        "kind",
        "contact_id",
        "contact_status",
        "authentication",
      ],
    ],
  },
  "email.sent": { when: "A draft was queued for delivery.", data: [...mail, ...content] },
  "email.delivered": { when: "The recipient's server confirmed it.", data: [...mail, "evidence", "recipients"] },
  "email.bounced": {
    when: "The mail did not reach a recipient: it bounced, or the provider dropped it. `recipients` says whom, with the server's words; `whole` is true if it reached no To.",
    data: [...mail, "evidence", "recipients", "whole"],
  },
  "email.complained": { when: "The recipient reported the mail as spam.", data: [...mail, "evidence", "recipients"] },
  "draft.created": {
    when: "A draft was submitted.",
    data: [...draft, ...content, "based_on_message_id", "stale_warning", "auto_approved", "actor"],
  },
  "draft.updated": {
    when: "The draft has a new version.",
    data: [...draft, ...content, "changed_fields", "because", "actor"],
  },
  "draft.approved": {
    when: "The draft was approved. With `undo_until`: a person approved in the console or on a link's page, and may undo that until then. The approval is final only with `email.sent`.",
    data: [...draft, ...content, "actor", "undo_until"],
  },
  "draft.rejected": { when: "The draft was rejected.", data: [...draft, "version", "reason", "actor"] },
  "draft.changes_requested": {
    when: "An approver asked for changes, in the words of `text`. Edit the draft: the approvers are asked about the new version.",
    data: [...draft, ...content, "text", "actor"],
  },
  "draft.assigned": {
    when: "The draft was assigned to a member, or to nobody (null). It restricts nobody's right to decide.",
    data: [...draft, "assigned_to", "actor"],
  },
  "draft.sent": { when: "The provider accepted the mail.", data: [...mail, "rfc_message_id", "sent_at"] },
  "draft.failed": {
    when: "The mail was not sent, or it is not known whether it was.",
    data: [...draft, "failure_code", "failure_message"],
  },
  "draft.stale": { when: "The customer wrote again.", data: [...draft, "new_message_id"] },
  "draft.escalated": {
    when: "The draft was not decided in time, or the first channel could not be reached.",
    data: [...draft, "version", "channel"],
  },
  "thread.merged": { when: "Another thread became part of this one.", data: [...thread, "merged_thread_id"] },
  "domain.verified": { when: "All DNS records of the domain were found.", data: domain },
  "domain.lost": { when: "DNS records of the domain are missing or different.", data: [...domain, "because"] },
  "audit.checkpoint": {
    when: "The head of the workspace's audit tree was signed; at most once an hour. For webhooks only: the feed has none.",
    data: ["origin", "epoch", "size", "root", "checkpoint"],
  },
};
