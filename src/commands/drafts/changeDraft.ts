import { type CrashPoint, crashPoint } from "#src/platform/crashPoints.ts";
import type { DraftCommand } from "#streams/draft/decider.ts";
import type { Draft } from "#streams/draft/draft.ts";
import { outcomeOf } from "#streams/draft/outcome.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause, Handled } from "../handle.ts";
import { noteDraft } from "../threads/threads.ts";

/** `threadId`: the thread that knows the draft now: its own, or the one it was merged into. */
export type ChangedDraft = Handled<Draft> & { threadId: string };

/**
 * Changes a draft and notes its state on its thread, so that both show at once; the process noteDrafts covers a run that was cut off in
 * between. `position`: log position that includes both. `recorded`: crash point between the two. The cause's `unlessMoved` applies to the
 * change alone. Throws Rejected, or StreamMoved if a guarded stream has moved.
 */
export async function changeDraft(
  deps: Dependencies,
  { draftId, command, recorded }: { draftId: string; command: DraftCommand; recorded?: CrashPoint },
  cause: Cause,
): Promise<ChangedDraft> {
  const handled = await deps.drafts.handle(draftId, command, cause);
  if (recorded) crashPoint(recorded);
  const { threadId, status } = handled.state;
  // The thread has known the draft since its submission, and an approved one is noted by the claim of its send.
  if (status === "approved" && command.type !== "SubmitDraft") return { ...handled, threadId };
  const { unlessMoved: _, ...told } = cause;
  return { ...handled, ...(await noteDraftOnThread(deps, { draftId, ...handled }, told)) };
}

/** Notes a draft's state on its thread. Repeating it, or an older revision, changes nothing. */
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
