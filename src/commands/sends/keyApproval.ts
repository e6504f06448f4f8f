import { type Draft, isByPersonOrKey } from "#streams/draft/draft.ts";
import { approvalsMissing } from "#streams/draft/quorum.ts";
import type { Identity } from "#streams/identity/decider.ts";
import { countApproval } from "../approvals/countApproval.ts";
import { changeDraft } from "../drafts/changeDraft.ts";
import type { Cause } from "../handle.ts";
import type { Loader } from "../states/loader.ts";

/**
 * If several approvals are required, counts an API key's send of an unapproved draft as one approval; the send proceeds only if no other is
 * missing. A draft approved by a rule or a setting first returns to pending. Returns the draft's present state. Throws Rejected
 * approvals_missing, version_mismatch.
 */
export async function addKeyApproval(
  loader: Loader,
  { draftId, draft, identity }: { draftId: string; draft: Draft; identity: Identity },
  cause: Cause,
): Promise<Draft> {
  const { approvalsRequired: required } = identity;
  if (required === 1 || isByPersonOrKey(draft.approval)) return draft;
  loader.requireFresh();
  const deps = loader.appending();
  if (draft.status === "approved") {
    const back = { type: "ReturnToPending", because: `this identity requires ${required} approvals` } as const;
    await changeDraft(deps, { draftId, command: back }, cause);
  }
  const { version: ifVersion, contentSha256 } = draft;
  const shown = { ifVersion, contentSha256, tokenSha256: null };
  const approval = { draftId, identityId: draft.identityId, actor: cause.actor };
  const { state, changed } = await countApproval(deps, approval, ({ voting, unlessMoved }) => {
    const command = { type: "ApproveDraft", ...shown, sendRequested: false, voting } as const;
    return changeDraft(deps, { draftId, command }, { ...cause, unlessMoved });
  });
  if (state.status !== "approved") throw approvalsMissing(required, state.votes.length, !changed);
  return state;
}
