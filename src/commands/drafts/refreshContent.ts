import { Rejected } from "#streams/decider.ts";
import type { Draft } from "#streams/draft/draft.ts";
import type { DraftEvent } from "#streams/draft/events.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { changeDraft } from "./changeDraft.ts";
import { contentSha256, identityParts, loadContent, storeContent } from "./draftContents.ts";
import { examineVersion } from "./examineVersion.ts";

/**
 * If the identity's name, reply-to or signature has changed, makes a new version of an open draft. The new version needs a new approval,
 * because only approved content is sent. Returns true if the draft now has a newer version than the given one.
 */
export async function refreshContent(
  deps: Dependencies,
  { draftId, draft }: { draftId: string; draft: Draft },
  cause: Cause,
): Promise<boolean> {
  // `fresh` reads an identity at least as new as the draft: this version may have been made from an identity newer than the cached one.
  const { state: identity } = await deps.identities.fresh(draft.identityId);
  const letter = await loadContent(deps.blobs, draft.stored);
  const content = { ...letter, ...(await identityParts(deps, { identity, letter })) };
  const sha256 = contentSha256(content);
  if (sha256 === draft.contentSha256) return false;
  const edited: Omit<Extract<DraftEvent, { type: "DraftEdited" }>["data"], "version"> = {
    ...(await storeContent(deps.blobs, content)),
    ...draft.making,
    contentSha256: sha256,
    rationale: draft.rationale,
    changedFields: ["identity"],
    because: "identity_changed",
    warnings: await examineVersion(deps, { ...draft, identity, content, making: draft.making }),
  };
  const command = { type: "EditDraft" as const, ...edited, ifVersion: draft.version };
  const handled = await changeDraft(deps, { draftId, command }, cause);
  // If nothing changed, an approver decided, or the draft was queued (a queued draft keeps the approved hash), or another run made a
  // version with this content.
  return handled.changed || handled.state.version !== draft.version;
}

const maxChanges = 10;

/**
 * Returns a draft as it would be sent now. An open draft is first updated to its identity. The caller must check the draft's status and
 * whether the new version was approved.
 */
export async function bringUpToDate(deps: Dependencies, draftId: string, cause: Cause): Promise<Draft> {
  for (let changes = 0; ; changes++) {
    const { state: draft } = await deps.drafts.load(draftId);
    if (draft.status !== "pending" && draft.status !== "approved") return draft;
    try {
      if (!(await refreshContent(deps, { draftId, draft }, cause))) return draft;
    } catch (error) {
      // Another run made a newer version meanwhile, so repeat with that version.
      if (!(error instanceof Rejected) || error.code !== "version_mismatch" || changes >= maxChanges) throw error;
    }
  }
}
