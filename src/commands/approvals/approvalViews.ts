import { draftById, type ReadDraft } from "#projections/drafts/queries.ts";
import { type HeldRow, type MessageRow, messageById, newerHeld, newerWord } from "#projections/messages/queries.ts";
import type { Reads } from "#projections/reads.ts";
import type { AnsweredMessage, ApprovalView, NewerMessage, RecordedOutcome } from "#src/channels/approvalView.ts";
import { readEvents } from "#src/eventStore/eventStore.ts";
import type { Making } from "#streams/draft/content.ts";
import { draftDecider } from "#streams/draft/decider.ts";
import type { Draft } from "#streams/draft/draft.ts";
import { type DraftEvent, draftStream, type StoredContent } from "#streams/draft/events.ts";
import type { MessageBody } from "#streams/thread/events.ts";
import type { Dependencies } from "../dependencies.ts";
import { loadContent } from "../drafts/draftContents.ts";
import { loadThread } from "../threads/threads.ts";

/** What an approver is shown of one version of a draft. The read models must have reached the draft's newest event. */
export async function approvalView(
  deps: Dependencies,
  { draftId, draft, version, expiresAt }: { draftId: string; draft: Draft; version: number; expiresAt: string },
): Promise<ApprovalView> {
  const { state: identity } = await deps.identities.load(draft.identityId);
  const { stored, making } = version === draft.version ? draft : await versionOf(deps, draftId, version);
  const { row, answered, newer, held } = await deps.reads.snapshot(draft.workspaceId, (reads) =>
    readRows(reads, draftId, draft),
  );
  const isHeld = held !== undefined && held.filing_number > (newer?.filing_number ?? 0);
  return {
    draftId,
    version,
    contentSha256: draft.contentSha256,
    status: draft.status,
    identity: { displayName: identity.displayName, address: identity.emailAddress },
    content: await loadContent(deps.blobs, stored),
    textDerived: making.textDerived === true,
    rationale: draft.rationale,
    answers: answered ? await answeredMessage(deps, answered) : null,
    participants: (await loadThread(deps, draft.threadId)).state.participants,
    warnings: [],
    sendsOnApproval: identity.sendOnChannelApproval,
    newerMessage: isHeld ? heldMessage(held) : newer ? await newerMessage(deps, newer) : null,
    decided: row ? recordedOutcome(row) : null,
    expiresAt,
  };
}

/** The draft's row, the message it answers and what came after that, all of one moment. */
async function readRows(reads: Reads, draftId: string, { workspaceId, basedOnMessageId, ...draft }: Draft) {
  const row = await draftById(reads, workspaceId, draftId);
  const answered = basedOnMessageId === null ? undefined : await messageById(reads, workspaceId, basedOnMessageId);
  const after = { threadId: row?.thread_id ?? draft.threadId, filingNumber: draft.basedOnNumber };
  const newer = await newerWord(reads, workspaceId, after);
  return { row, answered, newer, held: await newerHeld(reads, workspaceId, after) };
}

/** An earlier version, from the log. */
async function versionOf(
  deps: Dependencies,
  draftId: string,
  version: number,
): Promise<{ stored: StoredContent; making: Making }> {
  const events = await readEvents<DraftEvent>(deps.store, draftStream(draftId));
  for (const event of events) {
    const isIt =
      (event.type === "DraftSubmitted" && version === 1) ||
      (event.type === "DraftEdited" && event.data.version === version);
    if (isIt) return { stored: event.data, making: event.data };
  }
  throw new Error(`${draftDecider.category} ${draftId} has no version ${version}`);
}

async function bodyOf(deps: Dependencies, message: MessageRow): Promise<MessageBody> {
  if (message.body_blob === null) {
    return { text: message.body_text, html: message.body_html, extracted: message.extracted_text ?? "" };
  }
  const bytes = await deps.blobs.get(message.body_blob);
  return bytes ? JSON.parse(bytes.toString("utf8")) : { text: null, html: null, extracted: "" };
}

async function answeredMessage(deps: Dependencies, message: MessageRow): Promise<AnsweredMessage> {
  const { text, extracted } = await bodyOf(deps, message);
  const whole = text ?? "";
  const newText = extracted.trim() === "" ? whole : extracted;
  return {
    fromName: message.from_name,
    fromEmail: message.from_email,
    receivedAt: (message.received_at ?? message.created_at).toISOString(),
    subject: message.subject,
    newText,
    quotedText: whole.startsWith(newText.trimEnd()) ? whole.slice(newText.trimEnd().length).trim() : "",
    authentication: message.authentication,
    attachments: message.attachments.map((attachment) => attachment.filename),
  };
}

async function newerMessage(deps: Dependencies, message: MessageRow): Promise<NewerMessage> {
  const { fromName, fromEmail, receivedAt, subject, newText } = await answeredMessage(deps, message);
  return { fromName, fromEmail, receivedAt, subject, newText };
}

/** Somebody wrote; what, is shown once it is released. */
export const heldMessage = ({ from_name, from_email, received_at }: HeldRow): NewerMessage => ({
  fromName: from_name,
  fromEmail: from_email,
  receivedAt: received_at.toISOString(),
  subject: "(held, not shown yet)",
  newText: null,
});

const outcomes = ["approved", "rejected", "sending", "sent", "stale", "failed"] as const;

/** How a draft ended, or is about to; null while it waits. */
export function recordedOutcome(row: ReadDraft): RecordedOutcome | null {
  const decision = outcomes.find((outcome) => outcome === row.status);
  if (!decision) return null;
  return {
    decision,
    by: row.decided_by ? (row.decided_by.name ?? row.decided_by.id) : null,
    at: new Date(row.sent_at ?? row.decided_at ?? row.updated_at).toISOString(),
    reason: row.reason ?? row.failure_message,
  };
}
