import type { Dependencies } from "#src/commands/dependencies.ts";
import type { Cause } from "#src/commands/handle.ts";
import { recordSentOnThread } from "#src/commands/sends/sentMail.ts";
import { releaseQuotaAndClaim } from "#src/commands/sends/undoSend.ts";
import { claimedAttempt, commandThread } from "#src/commands/threads/threads.ts";
import { crashPoint } from "#src/platform/crashPoints.ts";
import type { AcceptedDelivery } from "#streams/delivery/decider.ts";
import type { Draft } from "#streams/draft/draft.ts";
import { idOf, type Recorded } from "#streams/event.ts";

/**
 * Handles the provider's acceptance of a mail: records the draft as sent, and notes that on its thread. A draft that already failed as
 * unconfirmed stays failed and gets the evidence. If the run is interrupted, it is repeated.
 */
export async function endAccepted(
  deps: Dependencies,
  { draftId, attemptId, delivery }: { draftId: string; attemptId: string; delivery: AcceptedDelivery },
  cause: Cause,
): Promise<void> {
  const { rfcMessageId } = delivery.started;
  const sentAt = deps.clock.now().toISOString();
  const sent = { type: "RecordSent", attemptId, rfcMessageId, sentAt } as const;
  const { state } = await deps.drafts.handle(draftId, sent, cause);
  crashPoint("deliver:sent");
  if (state.status === "sent")
    await recordSentOnThread(deps, { draftId, draft: state, attemptId, rfcMessageId }, cause);
  if (state.status === "failed") await lateEvidence(deps, { draftId, attemptId, outcome: "accepted" }, cause);
}

/**
 * Records that the draft will not be sent; `finishUnsent` then releases its claim and quota. If the draft already failed as unconfirmed,
 * records the refusal as evidence.
 */
export async function endFailed(
  deps: Dependencies,
  { draftId, attemptId, code, message }: { draftId: string; attemptId: string; code: string; message: string },
  cause: Cause,
): Promise<void> {
  const fail = { type: "FailDraft", attemptId, code, message } as const;
  const { state } = await deps.drafts.handle(draftId, fail, cause);
  const late = state.status === "failed" && state.failureCode === "unconfirmed" && code !== "unconfirmed";
  if (late) await lateEvidence(deps, { draftId, attemptId, outcome: "refused" }, cause);
}

const lateEvidence = (
  deps: Dependencies,
  { draftId, attemptId, outcome }: { draftId: string; attemptId: string; outcome: "accepted" | "refused" },
  cause: Cause,
) => deps.drafts.handle(draftId, { type: "RecordLateEvidence", attemptId, outcome }, cause);

/**
 * Releases the claim of an unsent draft, and its quota unless the mail may have been sent. If another attempt was to replace the draft's
 * last one, releases that attempt's claim.
 */
export async function finishUnsent(
  deps: Dependencies,
  { event, because }: { event: Recorded; because: string },
  cause: Cause,
): Promise<void> {
  const draftId = idOf(event.stream);
  const { state: draft } = await deps.drafts.load(draftId);
  const { threadId } = draft;
  const { attemptId: claimedBy } = await claimedAttempt(deps, { threadId, draftId }, cause);
  const attemptId = claimedBy ?? draft.attemptId;
  const held = { threadId, attemptId, reservation: draft.reservation };
  if (because !== "unconfirmed") return releaseQuotaAndClaim(deps, { draftId, draft: held, because }, cause);
  await setNeedsReview(deps, { draft, claimedBy }, cause);
  await releaseQuotaAndClaim(deps, { draftId, draft: { ...held, reservation: null }, because }, cause);
}

/** Marks the thread for review while the claim still exists, so only once: a repeated event does not undo what a person has set since. */
async function setNeedsReview(
  deps: Dependencies,
  { draft, claimedBy }: { draft: Draft; claimedBy: string | undefined },
  cause: Cause,
): Promise<void> {
  if (claimedBy !== draft.attemptId) return;
  const because = "it is not known whether a reply was sent";
  const command = { type: "UpdateThread", needsReview: true, because } as const;
  await commandThread(deps, { threadId: draft.threadId, command }, cause);
}
