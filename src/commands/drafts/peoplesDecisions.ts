import { invalid } from "#streams/decider.ts";
import type { Draft } from "#streams/draft/draft.ts";
import type { AuthorsWord } from "#streams/draft/review.ts";
import { type CountedApproval, countApproval } from "../approvals/countApproval.ts";
import { voterNames } from "../approvals/voters.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { mayLeave, refuse } from "../sends/mayLeave.ts";
import { changeDraft } from "./changeDraft.ts";
import { type DraftEdit, editOf, loadDraft } from "./drafts.ts";

/** So long a signed-in person can take their approval back before anything leaves. */
const undoMs = 10_000;

type Named = { workspaceId: string; draftId: string; ifVersion: number | null };

/**
 * A signed-in person approves the version that they were shown, which also sends it, in ten seconds, unless the identity's approvals do not. Where
 * several have to approve, it may stay pending. Throws Rejected invalid_request (no version), version_mismatch, stale_draft, invalid_status.
 */
export async function approveByPerson(
  deps: Dependencies,
  { workspaceId, draftId, ifVersion }: Named,
  cause: Cause,
): Promise<{ position: number }> {
  const draft = await loadDraft(deps, workspaceId, draftId);
  const version = requireVersion(ifVersion);
  await requireNotAnswered(deps, { draftId, draft, version }, cause);
  const approval = { draftId, identityId: draft.identityId, actor: cause.actor };
  return countApproval(deps, approval, (counted) => {
    const shown = { ifVersion: version, contentSha256: null, tokenSha256: null };
    const word = personsApproval(deps, counted);
    const command = { type: "ApproveDraft", ...shown, ...word } as const;
    return changeDraft(deps, { draftId, command }, { ...cause, unlessMoved: counted.unlessMoved });
  });
}

/** The same for what they make of it: their version and its approval are one append. Throws Rejected as an edit and an approval do. */
export async function editAndApprove(deps: Dependencies, edit: DraftEdit, cause: Cause): Promise<{ position: number }> {
  const { workspaceId, draftId } = edit;
  const draft = await loadDraft(deps, workspaceId, draftId);
  const version = requireVersion(edit.ifVersion);
  await requireNotAnswered(deps, { draftId, draft, version }, cause);
  const edited = await editOf(deps, { draft, edit, isPersons: true });
  const approval = { draftId, identityId: draft.identityId, actor: cause.actor };
  return countApproval(deps, approval, (counted) => {
    // If nothing was edited after all, it is an approval besides those that there are: of these some may count no more.
    const command = { type: "EditAndApprove", edit: edited, word: personsApproval(deps, counted) } as const;
    return changeDraft(deps, { draftId, command }, { ...cause, unlessMoved: counted.unlessMoved });
  });
}

/** They take it back: before it is on its way, or while others are missing. Throws Rejected invalid_status once it has left. */
export async function undoApproval(
  deps: Dependencies,
  { workspaceId, draftId }: Omit<Named, "ifVersion">,
  cause: Cause,
): Promise<{ position: number }> {
  await loadDraft(deps, workspaceId, draftId);
  const { actor } = cause;
  const { voter, also = [] } = await voterNames(deps, actor, null);
  const because = `${actor.name ?? actor.email ?? actor.id} took the approval back`;
  return changeDraft(deps, { draftId, command: { type: "UndoApproval", voter, also, because } }, cause);
}

/** A signed-in person's approval, as it counts now. `sends`: it means to send; by default as the identity's approvals do. */
export function personsApproval(
  deps: Pick<Dependencies, "clock">,
  { voting, identity }: Pick<CountedApproval, "voting" | "identity">,
  sends = identity.sendOnChannelApproval,
): AuthorsWord {
  const sendAfter = new Date(deps.clock.now().getTime() + undoMs).toISOString();
  return { voting, sendRequested: sends, signedIn: { sendAfter } };
}

/** Nobody approves what they did not see. */
function requireVersion(ifVersion: number | null): number {
  if (ifVersion !== null) return ifVersion;
  throw invalid("If-Match", "expected the version that was shown to the person who approves");
}

/** Refuses at once, and not in ten seconds, where the customer wrote since. Another version than the draft's is not judged. */
async function requireNotAnswered(
  deps: Dependencies,
  { draftId, draft, version }: { draftId: string; draft: Draft; version: number },
  cause: Cause,
): Promise<void> {
  if (draft.status !== "pending" || draft.version !== version) return;
  const { no } = await mayLeave(deps, { moment: "approved", draftId, draft }, cause);
  if (no) await refuse(deps, { draftId, draft, no }, cause);
}
