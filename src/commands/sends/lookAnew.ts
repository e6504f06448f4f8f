import { newerWord } from "#streams/draft/staleness.ts";
import { sendClaimOf } from "#streams/thread/sending.ts";
import type { Thread } from "#streams/thread/thread.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { loadWholeThread } from "../threads/threads.ts";
import { rulesWaitMs, waitUntilFiled } from "./barrier.ts";

/** A draft under way, as far as the look needs it. */
type Looked = { attemptId: string; threadId: string; identityId: string; basedOnNumber: number };

/** `stale`: the customer's newer message. `not claimed`: the thread's claim is not this attempt's. */
export type Look = { is: "good" } | { is: "stale"; newMessageId: string } | { is: "not claimed" };

/**
 * Right before a hand-over: whether the thread still knows the draft as claimed by this attempt, and nothing newer than what it answers. All
 * mail that was acknowledged up to now is judged. Throws Unavailable while such mail cannot be filed.
 */
export async function lookAnew(
  deps: Dependencies,
  { draftId, draft }: { draftId: string; draft: Looked },
  cause: Cause,
): Promise<Look> {
  let filedUpTo = await waitUntilFiled(deps, draft.identityId, { withinMs: rulesWaitMs });
  for (;;) {
    const { state: thread } = await loadWholeThread(deps, draft.threadId, cause);
    const look = judge(thread, { draftId, draft });
    if (look.is !== "good") return look;
    const now = await waitUntilFiled(deps, draft.identityId, { known: filedUpTo, withinMs: rulesWaitMs });
    if (now === filedUpTo) return look;
    filedUpTo = now;
  }
}

function judge(thread: Thread, { draftId, draft }: { draftId: string; draft: Looked }): Look {
  const newer = newerWord(thread, draft);
  if (newer !== null) return { is: "stale", newMessageId: newer.messageId };
  return { is: sendClaimOf(thread, draftId)?.attemptId === draft.attemptId ? "good" : "not claimed" };
}
