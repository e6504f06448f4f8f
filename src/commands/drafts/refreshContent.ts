import { Rejected } from "#streams/decider.ts";
import type { Draft } from "#streams/draft/draft.ts";
import type { DraftEvent } from "#streams/draft/events.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { changeDraft } from "./changeDraft.ts";
import { contentSha256, identityParts, loadContent, storeContent } from "./draftContents.ts";

/**
 * What was approved is what is sent: where the identity's name, reply-to or signature differs from what an open draft was shown with, the draft
 * gets a new version and needs a new approval. True if the draft has a newer version now than the given one.
 */
export async function refreshContent(
  deps: Dependencies,
  { draftId, draft }: { draftId: string; draft: Draft },
  cause: Cause,
): Promise<boolean> {
  // No older than the draft: a newer one may have made this version.
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
  };
  const command = { type: "EditDraft" as const, ...edited, ifVersion: draft.version };
  const handled = await changeDraft(deps, { draftId, command }, cause);
  // Decided or queued meanwhile: its status says how it goes on, and a queued one has the hash that was approved. Or it has this very
  // content already, in a version that somebody else made.
  return handled.changed || handled.state.version !== draft.version;
}

const maxChanges = 10;

/**
 * A draft as it would be sent now: an open one is brought up to date with its identity first. Its status, and whether anybody decided on
 * what that made of it, are the caller's to judge.
 */
export async function upToDate(deps: Dependencies, draftId: string, cause: Cause): Promise<Draft> {
  for (let changes = 0; ; changes++) {
    const { state: draft } = await deps.drafts.load(draftId);
    if (draft.status !== "pending" && draft.status !== "approved") return draft;
    try {
      if (!(await refreshContent(deps, { draftId, draft }, cause))) return draft;
    } catch (error) {
      // Somebody else made a newer version in between: that one is looked at.
      if (!(error instanceof Rejected) || error.code !== "version_mismatch" || changes >= maxChanges) throw error;
    }
  }
}
