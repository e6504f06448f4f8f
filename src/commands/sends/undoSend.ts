import type { Draft, Reservation } from "#streams/draft/draft.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { releaseQuota } from "../plans/quotas.ts";
import { commandThread } from "../threads/threads.ts";
import type { SendAttempt } from "./claimSend.ts";

/** Things that an unsent draft may still have reserved: a claim on its thread, and a place in the quota. */
type HeldBySend = { threadId: string; attemptId: string | null; reservation: Reservation | null };

/** Releases what an unsent draft still holds: first its quota, then its claim. */
export async function releaseQuotaAndClaim(
  deps: Dependencies,
  { draftId, draft, because }: { draftId: string; draft: HeldBySend; because: string },
  cause: Cause,
): Promise<void> {
  if (draft.reservation) await releaseQuota(deps, draft.reservation, cause);
  if (draft.attemptId) {
    const release = { type: "ReleaseClaim", draftId, attemptId: draft.attemptId, because } as const;
    await commandThread(deps, { threadId: draft.threadId, command: release }, cause);
  }
}

/**
 * Returns true if the draft was queued under this attempt. The first queued attempt reserves quota under its id; later attempts keep that
 * reservation, so its id is compared too.
 */
const wasQueuedUnder = ({ attemptId, reservation }: Draft, attempt: SendAttempt): boolean =>
  attemptId === attempt.attemptId || reservation?.reservationId === attempt.reservationId;

/**
 * Undoes an attempt that was not queued. The order matters: first the draft's stream is made to refuse the attempt for ever, then the quota
 * is released, then the claim. Changes nothing if the attempt was queued after all.
 */
export async function undoSend(
  deps: Dependencies,
  { draftId, attempt, because }: { draftId: string; attempt: SendAttempt; because: string },
  cause: Cause,
): Promise<void> {
  const { attemptId, threadId } = attempt;
  const abandon = { type: "AbandonSend", attemptId, because } as const;
  const { state } = await deps.drafts.handle(draftId, abandon, cause);
  if (wasQueuedUnder(state, attempt)) return;
  await releaseQuota(deps, attempt, cause);
  const release = { type: "ReleaseClaim", draftId, attemptId, because } as const;
  await commandThread(deps, { threadId, command: release }, cause);
}
