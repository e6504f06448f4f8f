import { type DraftRow, otherPendingDrafts, type ReadDraft } from "#projections/drafts/queries.ts";
import { messageById } from "#projections/messages/queries.ts";
import type { ApprovalView, BriefMail } from "#src/channels/approvalView.ts";
import type { Dependencies } from "../dependencies.ts";
import { loadContent } from "../drafts/draftContents.ts";

/** Returns the other answers to the same message: mail that was queued since, and other pending drafts. */
export async function otherAnswersToMessage(
  deps: Pick<Dependencies, "reads" | "blobs">,
  row: ReadDraft,
): Promise<Pick<ApprovalView, "answeredMeanwhile" | "otherDrafts">> {
  const others = await otherPendingDrafts(deps.reads, row.workspace_id, row);
  return {
    answeredMeanwhile: await answeredMeanwhile(deps, row),
    otherDrafts: await Promise.all(others.map((other) => brief(deps, other))),
  };
}

async function answeredMeanwhile(
  deps: Pick<Dependencies, "reads" | "blobs">,
  { workspace_id, identity_id, answered_meanwhile: answered }: ReadDraft,
): Promise<ApprovalView["answeredMeanwhile"]> {
  const message = answered && (await messageById(deps.reads, workspace_id, answered.message_id));
  if (!answered || !message) return null;
  const { content_blob: contentBlob, subject, body_text } = message;
  const { kind, id, name = id } = answered.by;
  const by =
    kind === "api_key"
      ? `API key ${name}`
      : kind === "rule"
        ? "a rule"
        : kind === "auto"
          ? "auto_approve_replies"
          : name;
  const at = new Date(answered.at).toISOString();
  const whose = { by, elsewhere: message.identity_id === identity_id ? null : answered.from_email };
  if (contentBlob !== null)
    return { ...(await brief(deps, { content: null, content_blob: contentBlob, created_at: at })), ...whose };
  return { ...whose, at, subject, text: body_text ?? "" };
}

/** Summarises a mail. If its content is lost, the summary is incomplete, but the draft is still shown. */
async function brief(
  deps: Pick<Dependencies, "blobs">,
  { content, content_blob, created_at }: Pick<DraftRow, "content" | "content_blob" | "created_at">,
): Promise<BriefMail> {
  const at = new Date(created_at).toISOString();
  const isLost = content === null && (await deps.blobs.size(content_blob ?? "")) === undefined;
  if (isLost) return { at, subject: "", text: "(The text is no longer stored.)" };
  const { subject, body_text } = await loadContent(deps.blobs, { content, contentBlob: content_blob });
  return { at, subject, text: body_text };
}
