import { draftIdsOfIdentity } from "#projections/drafts/queries.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import { refreshContent } from "#src/commands/drafts/refreshContent.ts";
import { Rejected } from "#streams/decider.ts";
import { idOf } from "#streams/event.ts";
import type { Process } from "./process.ts";

const shown = ["displayName", "replyToEmail", "signatureText", "signatureHtml"];

/**
 * When an identity's name, reply-to or signature changes, makes a new version of each of its open drafts. Approved drafts return to
 * pending.
 */
export const refreshDraftContents = (deps: Dependencies): Process => ({
  name: "refreshDraftContents",
  categories: ["identity"],
  keyOf: (event) => idOf(event.stream),
  concerns: ({ data }) => Object.keys(data.changes).some((field) => shown.includes(field)),
  on: {
    IdentityUpdated: async (event, { cause, reached }) => {
      if (!(await reached(event.position, ["drafts"]))) return { waitFor: event.position, of: ["drafts"] };
      const workspaceId = event.metadata.workspaceId as string;
      const open = await draftIdsOfIdentity(deps.reads, workspaceId, {
        identityId: idOf(event.stream),
        statuses: ["pending", "approved"],
      });
      for (const draftId of open) {
        const { state: draft } = await deps.drafts.load(draftId);
        if (draft.status !== "pending" && draft.status !== "approved") continue;
        await refreshContent(deps, { draftId, draft }, cause).catch(ignoreDecided);
      }
      return undefined;
    },
  },
});

/**
 * Ignores the refusal if the draft was decided or edited meanwhile: that state is kept, and the content is compared again before sending.
 */
function ignoreDecided(error: unknown): void {
  if (!(error instanceof Rejected)) throw error;
}
