import type { Dependencies } from "#src/commands/dependencies.ts";
import { refreshContent } from "#src/commands/drafts/refreshContent.ts";
import { reduceStoredSignature } from "#src/commands/identities/signatures.ts";
import { Rejected } from "#streams/decider.ts";
import { isReduced } from "#streams/draft/draft.ts";
import { categoryOf, idOf, type Recorded } from "#streams/event.ts";
import type { Process, ProcessContext } from "./process.ts";

/** Where the process says what it did. */
export type Says = (what: { identityId: string } | { draftId: string }, sentence: string) => void;

/**
 * HTML that was stored before bodies were reduced at submission is reduced once: signatures are stored so, and open drafts get a new version
 * that has to be approved. What is on its way, or has ended, stays. Events of today say that they are reduced, and are passed over.
 */
export function reduceStoredHtml(deps: Dependencies, says: Says): Process {
  async function reduceSignature(event: Recorded, { cause }: ProcessContext): Promise<void> {
    const identityId = idOf(event.stream);
    const changed = await reduceStoredSignature(deps, identityId, cause);
    if (changed) says({ identityId }, "its signature HTML was reduced to what can be shown");
  }

  async function reduceDraft(event: Recorded, { cause }: ProcessContext): Promise<void> {
    const draftId = idOf(event.stream);
    const { state: draft } = await deps.drafts.load(idOf(event.stream));
    if (draft.status !== "pending" && draft.status !== "approved") return;
    if (isReduced(draft)) return;
    const changed = await refreshContent(deps, { draftId, draft }, cause).catch(unlessDecided);
    if (changed) says({ draftId }, "its HTML was reduced to what can be shown: the new version waits for a decision");
  }

  return {
    name: "reduceStoredHtml",
    categories: ["identity", "draft"],
    keyOf: (event) => idOf(event.stream),
    concerns({ stream, type, data }) {
      if (categoryOf(stream) === "draft") return data.htmlRemoved === undefined;
      const { signatureHtml, htmlRemoved } = type === "IdentityCreated" ? data : data.changes;
      return Boolean(signatureHtml) && !htmlRemoved;
    },
    on: {
      IdentityCreated: reduceSignature,
      IdentityUpdated: reduceSignature,
      DraftSubmitted: reduceDraft,
      DraftEdited: reduceDraft,
    },
  };
}

/** Decided or edited in between: the send looks at it once more. */
function unlessDecided(error: unknown): boolean {
  if (error instanceof Rejected) return false;
  throw error;
}
