import type { Static } from "typebox";
import type { ReadDraft, VersionRow } from "#projections/drafts/queries.ts";
import { loadContent } from "#src/commands/drafts/draftContents.ts";
import type { Blobs } from "#src/platform/blobs/blobs.ts";
import { sortWarnings } from "#streams/draft/warnings.ts";
import type { Draft } from "../schemas/drafts.ts";
import type { DraftVersion } from "../schemas/histories.ts";
import { timestamp, timestampOrNull } from "./times.ts";

export type WireDraft = Static<typeof Draft>;

/** Converts a draft to the contract's form; reads its content from the blob store if needed. */
export async function presentDraft(blobs: Blobs, row: ReadDraft): Promise<WireDraft> {
  const content = await contentOf(blobs, row);
  return {
    id: row.id,
    workspace_id: row.workspace_id,
    thread_id: row.thread_id,
    identity_id: row.identity_id,
    based_on_message_id: row.based_on_message_id,
    kind: row.kind as WireDraft["kind"],
    status: row.status as WireDraft["status"],
    version: row.version,
    content_sha256: row.content_sha256,
    to: content.to,
    cc: content.cc,
    bcc: content.bcc,
    subject: content.subject,
    body_text: row.text_derived ? null : content.body_text,
    body_html: content.body_html,
    text_derived: row.text_derived,
    html_removed: row.html_removed,
    in_reply_to: content.in_reply_to,
    attachments: content.attachments,
    rationale: row.rationale,
    metadata: row.metadata,
    stale_warning: row.stale_warning,
    warning_kinds: sortWarnings([...row.version_warnings, ...row.judged_warnings]),
    newer_message_id: row.newer_message_id,
    answered_meanwhile: answeredOf(row),
    auto_approved: row.auto_approved,
    reason: row.reason,
    decided_by: row.decided_by,
    decided_at: timestampOrNull(row.decided_at),
    approvals: {
      required: row.approvals_required ?? row.approvals_required_now,
      given: row.approvals_given.map(({ by, at }) => ({ by, at: timestamp(at) })),
    },
    changes_requested: changesOf(row),
    assigned_to: row.assignee && { user_id: row.assignee.user_id, name: row.assignee.name },
    undo_until: timestampOrNull(row.undo_until),
    sent_at: timestampOrNull(row.sent_at),
    held_code: row.held_code,
    failure_code: row.failure_code,
    failure_message: row.failure_message,
    notification_status: {
      state: row.notification_state as WireDraft["notification_status"]["state"],
      channel: row.notification_channel,
      at: timestampOrNull(row.notification_at),
      error: row.notification_error,
    },
    actions: actionsOf(row.id),
    created_at: timestamp(row.created_at),
    updated_at: timestamp(row.updated_at),
  };
}

/**
 * Returns the other reply to the message, if one was queued since; null for a draft that is being sent or was sent, because that draft is
 * the answer.
 */
function answeredOf({ status, answered_meanwhile: answered }: ReadDraft): WireDraft["answered_meanwhile"] {
  if (answered === null || status === "sending" || status === "sent") return null;
  return { ...answered, at: timestamp(new Date(answered.at)) };
}

/** The request for changes that the draft waits for; null once the draft is no longer pending. */
function changesOf({ status, changes_requested: requested }: ReadDraft): WireDraft["changes_requested"] {
  if (requested === null || requested.state === "answered" || status !== "pending") return null;
  const { by, text, at, version } = requested;
  return { by, text, at: timestamp(new Date(at)), version };
}

export const presentDrafts = (blobs: Blobs, rows: readonly ReadDraft[]): Promise<WireDraft[]> =>
  Promise.all(rows.map((row) => presentDraft(blobs, row)));

/** A version that an edit replaced. */
export async function presentVersion(blobs: Blobs, row: VersionRow): Promise<Static<typeof DraftVersion>> {
  const { subject, body_html, cc, bcc, ...content } = await contentOf(blobs, row);
  const body_text = row.text_derived ? null : content.body_text;
  const { id, draft_id, version, rationale, edited_by, changed_fields } = row;
  const state = { subject, body_text, body_html, cc, bcc, rationale };
  return { id, draft_id, version, ...state, edited_by, changed_fields, created_at: timestamp(row.created_at) };
}

const contentOf = (blobs: Blobs, row: Pick<ReadDraft, "content" | "content_blob">) =>
  loadContent(blobs, { content: row.content, contentBlob: row.content_blob });

const actionsOf = (id: string): WireDraft["actions"] => ({
  approve: `POST /v1/drafts/${id}/approve`,
  reject: `POST /v1/drafts/${id}/reject`,
  edit: `PATCH /v1/drafts/${id}`,
  send: `POST /v1/drafts/${id}/send`,
});
