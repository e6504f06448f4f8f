import type { Dependencies } from "#src/commands/dependencies.ts";
import type { Cause } from "#src/commands/handle.ts";
import { giveBack } from "#src/commands/sends/queueSend.ts";
import { noteSent } from "#src/commands/sends/sentMail.ts";
import { loadThread, onThread } from "#src/commands/threads/threads.ts";
import type { Draft } from "#streams/draft/draft.ts";
import { idOf, type Recorded } from "#streams/event.ts";
import { causedBy } from "./cause.ts";
import type { Process } from "./process.ts";

/**
 * When a send has ended, its thread is told of a mail that left, and whatever an unsent draft still holds is given back: its quota
 * (unless nobody knows whether it was sent) and its claim. Driven by the end itself, so that a crash right after it loses nothing.
 */
export const finishSends = (deps: Dependencies): Process => ({
  name: "finishSends",
  categories: ["draft"],
  keyOf: (event) => idOf(event.stream),
  on: {
    DraftSent: async (event) => {
      await noteSent(deps, idOf(event.stream), causedBy(event, "finishSends"));
    },
    DraftMarkedStale: (event) => release(deps, event, "stale"),
    DraftFailed: (event) => release(deps, event, event.data.code),
  },
});

async function release(deps: Dependencies, event: Recorded, because: string): Promise<void> {
  const cause = causedBy(event, "finishSends");
  const draftId = idOf(event.stream);
  const { state: draft } = await deps.drafts.load(draftId);
  if (because !== "unconfirmed") return giveBack(deps, { draftId, draft, because }, cause);
  await setNeedsReview(deps, { draftId, draft }, cause);
  await giveBack(deps, { draftId, draft: { ...draft, reservation: null }, because }, cause);
}

/** Runs once, while the claim still exists, so that a repeated event does not undo what a person answered. */
async function setNeedsReview(
  deps: Dependencies,
  { draftId, draft }: { draftId: string; draft: Draft },
  cause: Cause,
): Promise<void> {
  const { state: thread } = await loadThread(deps, draft.threadId);
  if (thread.claims[draftId]?.attemptId !== draft.attemptId) return;
  const because = "it is unknown whether a reply was sent";
  const command = { type: "UpdateThread", needsReview: true, because } as const;
  await onThread(deps, { threadId: draft.threadId, command }, cause);
}
