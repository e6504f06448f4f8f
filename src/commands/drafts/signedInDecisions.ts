import { invalidRequest } from "#streams/decider.ts";
import type { Draft } from "#streams/draft/draft.ts";
import type { Sheet } from "#streams/draft/events.ts";
import type { AuthorApproval } from "#streams/draft/review.ts";
import { type CountedApproval, countApproval } from "../approvals/countApproval.ts";
import { undoWindow } from "../approvals/undoWindow.ts";
import { voterNames } from "../approvals/voters.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { checkDraftSendable, recordSendRefusal } from "../sends/sendChecks.ts";
import { changeDraft } from "./changeDraft.ts";
import { type DraftEdit, loadDraft, toEdit } from "./drafts.ts";

type DraftAndVersion = { workspaceId: string; draftId: string; ifVersion: number | null };

/** Set if the person decided about several drafts on one page: the hash that was shown, and the page. */
type ShownOnSheet = { contentSha256?: string | null; sheet?: Sheet };

/**
 * Records a signed-in person's approval of the version that they were shown. The approval also sends the draft after ten seconds, unless
 * the identity's approvals do not send. If several approvals are required, the draft may stay pending. Throws Rejected invalid_request (no
 * version), version_mismatch, stale_draft, invalid_status.
 */
export async function approveByPerson(
  deps: Dependencies,
  { workspaceId, draftId, ifVersion, contentSha256 = null, sheet }: DraftAndVersion & ShownOnSheet,
  cause: Cause,
): Promise<{ position: number }> {
  const draft = await loadDraft(deps, workspaceId, draftId);
  const version = requireVersion(ifVersion);
  await requireNotStale(deps, { draftId, draft, version }, cause);
  const approval = { draftId, identityId: draft.identityId, actor: cause.actor };
  return countApproval(deps, approval, (counted) => {
    const shown = { ifVersion: version, contentSha256, tokenSha256: null, ...(sheet && { sheet }) };
    const word = signedInApproval(deps, counted);
    const command = { type: "ApproveDraft", ...shown, ...word } as const;
    return changeDraft(deps, { draftId, command }, { ...cause, unlessMoved: counted.unlessMoved });
  });
}

/** Records a person's edit and approval in one append. Throws Rejected for the same reasons as an edit and an approval. */
export async function editAndApprove(deps: Dependencies, edit: DraftEdit, cause: Cause): Promise<{ position: number }> {
  const { workspaceId, draftId } = edit;
  const draft = await loadDraft(deps, workspaceId, draftId);
  const version = requireVersion(edit.ifVersion);
  await requireNotStale(deps, { draftId, draft, version }, cause);
  const edited = await toEdit(deps, { draft, edit, isPersons: true });
  const approval = { draftId, identityId: draft.identityId, actor: cause.actor };
  return countApproval(deps, approval, (counted) => {
    // If the edit changes nothing, it counts as one more approval of the version; earlier approvals may have lapsed.
    const command = { type: "EditAndApprove", edit: edited, authorApproval: signedInApproval(deps, counted) } as const;
    return changeDraft(deps, { draftId, command }, { ...cause, unlessMoved: counted.unlessMoved });
  });
}

/** Undoes a person's own approval, while the draft is not queued. Throws Rejected invalid_status afterwards. */
export async function undoApproval(
  deps: Dependencies,
  { workspaceId, draftId }: Omit<DraftAndVersion, "ifVersion">,
  cause: Cause,
): Promise<{ position: number }> {
  await loadDraft(deps, workspaceId, draftId);
  const { actor } = cause;
  const { voter, also = [] } = await voterNames(deps, actor, null);
  const because = `${actor.name ?? actor.email ?? actor.id} undid the approval`;
  return changeDraft(deps, { draftId, command: { type: "UndoApproval", voter, also, because } }, cause);
}

/**
 * Returns a signed-in person's approval in the form that the draft's stream counts. `sends`: true if the approval also sends the draft;
 * default: the identity's setting.
 */
export function signedInApproval(
  deps: Pick<Dependencies, "clock">,
  { voting, identity }: Pick<CountedApproval, "voting" | "identity">,
  sends = identity.sendOnChannelApproval,
): AuthorApproval {
  return { voting, sendRequested: sends, undoWindow: undoWindow(deps) };
}

/** Returns the version that the person was shown. Throws Rejected invalid_request if none is given. */
function requireVersion(ifVersion: number | null): number {
  if (ifVersion !== null) return ifVersion;
  throw invalidRequest("If-Match", "expected the version that was shown to the approver");
}

/**
 * Throws Rejected stale_draft if the customer wrote since, so that the person learns it at once instead of after ten seconds. Does not
 * judge if `ifVersion` is not the draft's version.
 */
async function requireNotStale(
  deps: Dependencies,
  { draftId, draft, version }: { draftId: string; draft: Draft; version: number },
  cause: Cause,
): Promise<void> {
  if (draft.status !== "pending" || draft.version !== version) return;
  const { no } = await checkDraftSendable(deps, { moment: "approved", draftId, draft }, cause);
  if (no) await recordSendRefusal(deps, { draftId, draft, no }, cause);
}
