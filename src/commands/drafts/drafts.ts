import { invalidRequest, Rejected } from "#streams/decider.ts";
import { changedFields } from "#streams/draft/changes.ts";
import type { DraftContent } from "#streams/draft/content.ts";
import { type Draft, openChangesRequest, requireStatus } from "#streams/draft/draft.ts";
import type { EditDraft } from "#streams/draft/edits.ts";
import { requireOtherRecipients, requireUsableRecipients } from "#streams/draft/recipients.ts";
import type { ReviewCommand } from "#streams/draft/review.ts";
import { countApproval } from "../approvals/countApproval.ts";
import { requireKeysMayDecide } from "../approvals/humanApproval.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { countAnswer } from "../sends/countAnswer.ts";
import { queueSend } from "../sends/queueSend.ts";
import { tryCachedFirst } from "../states/loader.ts";
import { alignBodies } from "./alignBodies.ts";
import { changeDraft } from "./changeDraft.ts";
import { editLetter } from "./composeLetter.ts";
import { contentSha256, loadContent, storeContent } from "./draftContents.ts";
import { examineVersion } from "./examineVersion.ts";

/** Changes that a PATCH may contain; absent fields stay. */
export type DraftChanges = {
  bodyText?: string | null;
  bodyHtml?: string | null;
  subject?: string | null;
  cc?: string[];
  bcc?: string[];
  rationale?: string | null;
};

/** Throws Rejected not_found if the workspace has no such draft. */
export async function loadDraft(deps: Dependencies, workspaceId: string, draftId: string): Promise<Draft> {
  const { state } = await deps.drafts.load(draftId);
  if (!state.exists || state.workspaceId !== workspaceId) throw new Rejected("not_found", "no such draft");
  return state;
}

export type DraftEdit = {
  workspaceId: string;
  draftId: string;
  ifVersion: number | null;
  changes: DraftChanges;
  /** Subject of the thread, used if the edit removes the draft's own subject. */
  threadSubject: string;
};

/**
 * Edits a pending draft. Makes a new version if the edit changes anything. Throws Rejected invalid_status, version_mismatch,
 * invalid_request.
 */
export async function editDraft(deps: Dependencies, edit: DraftEdit, cause: Cause): Promise<{ position: number }> {
  const draft = await loadDraft(deps, edit.workspaceId, edit.draftId);
  const isPersons = cause.actor.kind === "session";
  const command = await toEdit(deps, { draft, edit, isPersons });
  return changeDraft(deps, { draftId: edit.draftId, command }, cause);
}

/** An edit of a draft. `isPersons`: true if a person edits; a person sees only one of the two bodies, so the other one is derived from it again. */
type EditOfDraft = {
  draft: Draft;
  edit: Pick<DraftEdit, "changes" | "ifVersion" | "threadSubject">;
  isPersons: boolean;
};

/** Returns the edit command, whose content is stored. */
export async function toEdit(deps: Dependencies, given: EditOfDraft): Promise<EditDraft> {
  const command = await unstoredEdit(deps, given);
  return { ...command, ...(await storeContent(deps.blobs, command.content)) };
}

/** Returns the edit command with its content; stores nothing. */
export async function unstoredEdit(
  deps: Dependencies,
  { draft, edit, isPersons }: EditOfDraft,
): Promise<EditDraft & { content: DraftContent }> {
  const { ifVersion, threadSubject } = edit;
  const before = await loadContent(deps.blobs, draft.stored);
  const changes = isPersons ? { ...edit.changes, ...alignBodies(before, edit.changes) } : edit.changes;
  const recipients = { to: before.to, cc: changes.cc ?? before.cc, bcc: changes.bcc ?? before.bcc };
  requireUsableRecipients(recipients);
  const { state: identity } = await deps.identities.load(draft.identityId);
  requireOtherRecipients(recipients, identity);
  const written = { ...before, making: draft.making, workspaceId: draft.workspaceId };
  const { making, ...letter } = await editLetter(deps, written, changes);
  const content = { ...before, ...letter, ...recipients };
  if (changes.subject !== undefined) content.subject = changes.subject ?? threadSubject;
  const rationale = changes.rationale === undefined ? draft.rationale : changes.rationale;
  return {
    type: "EditDraft",
    ...{ content, contentBlob: null },
    ...making,
    contentSha256: contentSha256(content),
    rationale,
    changedFields: changedFields({ content: before, rationale: draft.rationale }, { content, rationale }),
    because: "edit",
    warnings: await examineVersion(deps, { ...draft, identity, content, making }),
    // The edit was computed from the version loaded above, so it must not overwrite an edit made in between.
    ifVersion: ifVersion ?? draft.version,
  };
}

/**
 * Approves with an API key without sending. If several approvals are required, the draft may stay pending. Throws Rejected
 * human_approval_required, invalid_status, version_mismatch.
 */
export async function approveDraft(
  deps: Dependencies,
  { workspaceId, draftId, ifVersion }: { workspaceId: string; draftId: string; ifVersion: number | null },
  cause: Cause,
): Promise<{ position: number }> {
  const draft = await loadDraft(deps, workspaceId, draftId);
  const { identityId } = draft;
  const approval = { draftId, identityId, actor: cause.actor };
  return countApproval(deps, approval, async ({ voting, unlessMoved }) => {
    await requireKeysMayDecide(deps, { identityId });
    // Anything else is refused or already approved.
    const isShown = (ifVersion ?? draft.version) === draft.version;
    const isDecidable = draft.status === "pending" && isShown && openChangesRequest(draft) === null;
    if (isDecidable) await countAnswer(deps, { draftId, draft, by: "key" }, cause);
    const shown = { ifVersion, contentSha256: null, tokenSha256: null };
    const command: ReviewCommand = { type: "ApproveDraft", ...shown, sendRequested: false, voting };
    return changeDraft(deps, { draftId, command }, { ...cause, unlessMoved });
  });
}

export async function rejectDraft(
  deps: Dependencies,
  { workspaceId, draftId, reason }: { workspaceId: string; draftId: string; reason: string | null },
  cause: Cause,
): Promise<{ position: number }> {
  await loadDraft(deps, workspaceId, draftId);
  const command: ReviewCommand = { type: "RejectDraft", reason, ifVersion: null, tokenSha256: null };
  return changeDraft(deps, { draftId, command }, cause);
}

/**
 * Queues a draft for delivery. An API key may send a pending draft: the send is then the key's approval. A person can send only approved
 * drafts. `ifVersion`: version that the caller means; naming it also accepts a version that the service made after the approval. null if
 * the caller names none. Throws Rejected like queueSend.
 */
export async function sendDraft(
  deps: Dependencies,
  { workspaceId, draftId, ifVersion = null }: { workspaceId: string; draftId: string; ifVersion?: number | null },
  cause: Cause,
): Promise<{ position: number; threadId: string; queuedAt: string }> {
  const isPersons = cause.actor.kind === "session";
  // Only the draft's workspace is checked here. It never changes, so a cached state suffices; everything else is checked when the draft is
  // queued.
  const owned = (known: Dependencies) => loadDraft(known, workspaceId, draftId);
  const draft = isPersons ? await owned(deps) : await tryCachedFirst(deps, owned);
  const intent = ifVersion === null ? {} : { ifVersion };
  if (isPersons && draft.status === "pending") requireStatus(draft, "sent", "approved");
  const kind = isPersons ? "approval" : "api_key";
  const { position, threadId, queuedAt } = await queueSend(deps, { draftId, kind, intent }, cause);
  return { position, threadId, queuedAt };
}

/** Notifies the approvers again. Throws Rejected rate_limited, invalid_status, invalid_request (no channel). */
export async function notifyAgain(
  deps: Dependencies,
  { workspaceId, draftId }: { workspaceId: string; draftId: string },
  cause: Cause,
): Promise<{ position: number; channel: string; notifiedAt: string }> {
  const draft = await loadDraft(deps, workspaceId, draftId);
  const { state: identity } = await deps.identities.load(draft.identityId);
  if (!identity.approvalChannel) {
    throw invalidRequest(
      "approval_channel",
      "this identity has no approval channel: set approval_channel to notify approvers",
    );
  }
  const at = deps.clock.now().toISOString();
  const { notifyThrottleSeconds: throttleSeconds } = deps.settings;
  const command = { type: "RequestNotify", at, throttleSeconds } as const;
  const { state, position } = await deps.drafts.handle(draftId, command, cause);
  return { position, channel: identity.approvalChannel.type, notifiedAt: state.notified.requestedAt ?? at };
}
