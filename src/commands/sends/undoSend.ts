import type { Draft, Reservation } from "#streams/draft/draft.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { releaseQuota } from "../plans/quotas.ts";
import { onThread } from "../threads/threads.ts";
import type { Attempt } from "./claimSend.ts";

/** What a draft may still hold: a claim on its thread, and a part of the quota. */
type Holding = { threadId: string; attemptId: string | null; reservation: Reservation | null };

/** Gives back what a draft that ended unsent still holds: its quota first, then its claim. */
export async function giveBack(
  deps: Dependencies,
  { draftId, draft, because }: { draftId: string; draft: Holding; because: string },
  cause: Cause,
): Promise<void> {
  if (draft.reservation) await releaseQuota(deps, draft.reservation, cause);
  if (draft.attemptId) {
    const release = { type: "ReleaseClaim", draftId, attemptId: draft.attemptId, because } as const;
    await onThread(deps, { threadId: draft.threadId, command: release }, cause);
  }
}

/** The first attempt that a draft is queued under reserves its quota, and gives the reservation its id; later ones replace it. */
const wasQueuedUnder = ({ attemptId, reservation }: Draft, attempt: Attempt): boolean =>
  attemptId === attempt.attemptId || reservation?.reservationId === attempt.reservationId;

/**
 * Takes back an attempt that did not come to be queued. The order matters: first the draft refuses that attempt permanently, then its
 * quota, then the claim. An attempt that was queued after all stays as it is.
 */
export async function undoSend(
  deps: Dependencies,
  { draftId, attempt, because }: { draftId: string; attempt: Attempt; because: string },
  cause: Cause,
): Promise<void> {
  const { attemptId, threadId } = attempt;
  const abandon = { type: "AbandonSend", attemptId, because } as const;
  const { state } = await deps.drafts.handle(draftId, abandon, cause);
  if (wasQueuedUnder(state, attempt)) return;
  await releaseQuota(deps, attempt, cause);
  const release = { type: "ReleaseClaim", draftId, attemptId, because } as const;
  await onThread(deps, { threadId, command: release }, cause);
}
