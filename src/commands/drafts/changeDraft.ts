import { type CrashPoint, crashPoint } from "#src/platform/crashPoints.ts";
import type { DraftCommand } from "#streams/draft/decider.ts";
import type { Draft } from "#streams/draft/draft.ts";
import { outcomeOf } from "#streams/draft/outcome.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause, Handled } from "../handle.ts";
import { noteDraft } from "../threads/threads.ts";

/** A changed draft. `threadId`: its thread, or the thread into which that was merged. */
export type ChangedDraft = Handled<Draft> & { threadId: string };

/**
 * Changes a draft and notes its new state on its thread, so that both show the change at once. If this run is interrupted in between, the
 * process noteDrafts writes the note. The returned `position` is the log position that includes both. `recorded`: crash point between the
 * two. The cause's `unlessMoved` applies to the change only. Throws Rejected, and StreamMoved if a guarded stream has moved.
 */
export async function changeDraft(
  deps: Dependencies,
  { draftId, command, recorded }: { draftId: string; command: DraftCommand; recorded?: CrashPoint },
  cause: Cause,
): Promise<ChangedDraft> {
  const handled = await deps.drafts.handle(draftId, command, cause);
  if (recorded) crashPoint(recorded);
  const { threadId, status } = handled.state;
  // No note is needed: the thread knows the draft since its submission, and the claim of the send will note the approval.
  if (status === "approved" && command.type !== "SubmitDraft") return { ...handled, threadId };
  const { unlessMoved: _, ...told } = cause;
  return { ...handled, ...(await noteDraftOnThread(deps, { draftId, ...handled }, told)) };
}

/** Notes a draft's state on its thread. Noting the same or an older revision again changes nothing. */
export async function noteDraftOnThread(
  deps: Dependencies,
  { draftId, state, revision, position }: { draftId: string; state: Draft; revision: number; position: number },
  cause: Cause,
): Promise<{ threadId: string; position: number }> {
  const { threadId } = state;
  const outcome = outcomeOf(state);
  if (outcome === null) return { threadId, position };
  const noted = await noteDraft(deps, { threadId, draftId, outcome, draftRevision: revision }, cause);
  return { threadId: noted.threadId, position: Math.max(position, noted.position) };
}
