import type { Dependencies } from "#src/commands/dependencies.ts";
import type { Cause } from "#src/commands/handle.ts";
import { requeueSend } from "#src/commands/sends/queueSend.ts";
import { undoSend } from "#src/commands/sends/undoSend.ts";
import { claimedAttempt } from "#src/commands/threads/threads.ts";
import { Rejected } from "#streams/decider.ts";
import type { DraftFailure } from "./handOver.ts";
import type { Timer } from "./process.ts";
import type { Sending } from "./writePermission.ts";

/** A claim whose draft may not have been queued. `replaces`: the attempt that it replaces; null for a first claim. */
export type LoneClaim = { attemptId: string; quotaStream: string; replaces: string | null; threadId: string };

/** Returns the claim of a timer; undefined if the timer is about something else. */
export const claimOf = ({ payload }: Timer): LoneClaim | undefined => payload.claim as LoneClaim | undefined;

/**
 * Claims a draft again to replace its closed attempt, and queues the draft under the new attempt. If an interrupted run left a claim on the
 * thread, uses that. The draft may become stale instead. Returns a failure if the draft must fail.
 */
export async function claimAgain(
  deps: Dependencies,
  { draftId, draft, tries }: Sending & { tries: number },
  cause: Cause,
): Promise<DraftFailure | undefined> {
  const { attemptId: replaces } = draft;
  try {
    await requeueSend(deps, { draftId, replaces, tries }, cause);
  } catch (error) {
    if (!(error instanceof Rejected)) throw error;
    if (error.code === "approval_withdrawn") return { code: error.code, message: error.message };
    if (error.code === "stale_draft" || error.code === "invalid_status") return undefined;
    if (error.code !== "send_in_progress") throw error;
    const { state: now } = await deps.drafts.load(draftId);
    if (now.attemptId !== replaces) return undefined;
    const { attemptId } = await claimedAttempt(deps, { threadId: draft.threadId, draftId }, cause);
    if (attemptId === undefined || attemptId === replaces) throw error;
    await deps.drafts.handle(draftId, { type: "RequeueDraft", attemptId, replaces, tries }, cause);
  }
  return undefined;
}

/**
 * Handles a claim whose draft was not queued in time. Returns true if the draft needs another step. If the claim will never lead to a
 * queued draft, undoes the claim and returns false.
 */
export async function recoverClaim(
  deps: Dependencies,
  { draftId, claim }: { draftId: string; claim: LoneClaim },
  cause: Cause,
): Promise<boolean> {
  const { attemptId, quotaStream, replaces, threadId: claimedOn } = claim;
  const { state: draft } = await deps.drafts.load(draftId);
  if (draft.attemptId === attemptId) return false;
  const { threadId, attemptId: claimedBy } = await claimedAttempt(deps, { threadId: claimedOn, draftId }, cause);
  if (claimedBy !== attemptId) return false;
  if (replaces !== null && draft.status === "sending" && draft.attemptId === replaces) return true;
  const attempt = { attemptId, threadId, quotaStream, reservationId: attemptId };
  await undoSend(deps, { draftId, attempt, because: "the send was interrupted" }, cause);
  return false;
}
