import type { WireDraft } from "#src/http/present/drafts.ts";
import type { WireMessage } from "#src/http/present/messages.ts";
import type { WireThread } from "#src/http/present/threads.ts";

/** Text by strangers in a conversation. */
export type Words = { name: string; address: string; subject: string; text: string; html: string; filename: string };

export const plainWords: Words = {
  name: "Ann Example",
  address: "ann@customer.example",
  subject: "My order",
  text: "Where is it?",
  html: "<p>Where is it?</p>",
  filename: "invoice.pdf",
};

export const hostileEverywhere = (word: string): Words => ({
  name: word,
  address: word,
  subject: word,
  text: word,
  html: word,
  filename: word,
});

const idOf = (n: number): string => `00000000-0000-7000-8000-${String(n).padStart(12, "0")}`;
export const threadId = idOf(1);
const identityId = idOf(2);
export const messageIds = [idOf(11), idOf(12), idOf(13)] as const;
export const draftId = idOf(21);

export const wireThread = (words: Words, change: Partial<WireThread> = {}): WireThread => ({
  id: threadId,
  workspace_id: idOf(3),
  identity_id: identityId,
  primary_contact_id: null,
  subject: words.subject,
  status: "open",
  priority: "normal",
  needs_review: false,
  last_message_at: "2026-11-20T10:00:00.000Z",
  message_count: 3,
  participants: [words.address],
  merged_into: null,
  created_at: "2026-11-20T08:00:00.000Z",
  updated_at: "2026-11-20T10:00:00.000Z",
  ...change,
});

export const wireMessage = (words: Words, change: Partial<WireMessage> = {}): WireMessage => ({
  id: messageIds[0],
  thread_id: threadId,
  direction: "inbound",
  from_email: words.address,
  from_name: words.name,
  to_emails: ["support@agents.example", words.address],
  cc_emails: [words.address],
  bcc_emails: [],
  reply_to: [words.address],
  subject: words.subject,
  body_text: words.text,
  body_html: words.html,
  extracted_text: words.text,
  rfc_message_id: "<one@customer.example>",
  in_reply_to: null,
  references: [],
  classification: "person",
  kind: "customer",
  generated: false,
  origin: "external",
  reactions: [],
  recipients: [],
  authentication: { spf: "pass", dkim: "pass", dmarc: "pass", aligned: true },
  delivery_status: null,
  from_blocked_contact: false,
  approval_link_removed: false,
  notes: [],
  draft_id: null,
  attachments: [
    {
      id: "a-1",
      filename: words.filename,
      content_type: "application/pdf",
      size_bytes: 2048,
      content_id: null,
      inline: false,
    },
  ],
  received_at: "2026-11-20T10:00:00.000Z",
  sent_at: null,
  created_at: "2026-11-20T10:00:00.000Z",
  ...change,
});

export const wireDraft = (words: Words, change: Partial<WireDraft> = {}): WireDraft => ({
  id: draftId,
  workspace_id: idOf(3),
  thread_id: threadId,
  identity_id: identityId,
  based_on_message_id: messageIds[0],
  kind: "draft",
  status: "pending",
  version: 1,
  content_sha256: "0".repeat(64),
  to: [words.address],
  cc: [],
  bcc: [],
  subject: words.subject,
  body_text: words.text,
  body_html: null,
  text_derived: false,
  html_removed: [],
  in_reply_to: null,
  attachments: [],
  rationale: null,
  metadata: null,
  stale_warning: false,
  warning_kinds: [],
  newer_message_id: null,
  answered_meanwhile: null,
  auto_approved: null,
  changes_requested: null,
  reason: null,
  decided_by: null,
  decided_at: null,
  assigned_to: null,
  undo_until: null,
  approvals: { required: 1, given: [] },
  sent_at: null,
  held_code: null,
  failure_code: null,
  failure_message: null,
  notification_status: { state: "sent", channel: "email", at: null, error: null },
  actions: { approve: "", reject: "", edit: "", send: "" },
  created_at: "2026-11-20T10:01:00.000Z",
  updated_at: "2026-11-20T10:01:00.000Z",
  ...change,
});
