import { newerWord } from "#streams/draft/staleness.ts";
import { sendClaimOf } from "#streams/thread/sending.ts";
import type { Thread } from "#streams/thread/thread.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { loadWholeThread } from "../threads/threads.ts";
import { loadFiled, rulesWaitMs, waitUntilFiled } from "./barrier.ts";

/** A draft under way, as far as the look needs it. */
type Looked = { attemptId: string; threadId: string; identityId: string; basedOnNumber: number };

/** `stale`: the customer's newer message. `not claimed`: the thread's claim is not this attempt's. */
type Found = { is: "good" } | { is: "stale"; newMessageId: string } | { is: "not claimed" };

/** `besides`: what else was looked at. */
export type Look<Besides> = ({ is: "good" } & Besides) | Exclude<Found, { is: "good" }>;

/**
 * Right before a hand-over: whether the thread still knows the draft as claimed by this attempt, and nothing newer than what it answers. All
 * mail that was acknowledged up to now is judged. `besides`: looked at in the moment of the last look at the inbox, when the thread was read.
 * Throws Unavailable while such mail cannot be filed.
 */
export async function lookAnew<Besides extends object>(
  deps: Dependencies,
  { draftId, draft, besides }: { draftId: string; draft: Looked; besides: () => Promise<Besides> },
  cause: Cause,
): Promise<Look<Besides>> {
  const { identityId, threadId } = draft;
  const loadThread = () => loadWholeThread(deps, threadId, cause);
  let { filedUpTo, found: thread } = await loadFiled(deps, { identityId, withinMs: rulesWaitMs }, loadThread);
  for (;;) {
    const look = judge(thread.state, { draftId, draft });
    if (look.is !== "good") return look;
    const waiting = { known: filedUpTo, withinMs: rulesWaitMs };
    const [now, beside] = await Promise.all([waitUntilFiled(deps, identityId, waiting), besides()]);
    if (now === filedUpTo) return { ...look, ...beside };
    filedUpTo = now;
    thread = await loadThread();
  }
}

function judge(thread: Thread, { draftId, draft }: { draftId: string; draft: Looked }): Found {
  const newer = newerWord(thread, draft);
  if (newer !== null) return { is: "stale", newMessageId: newer.messageId };
  return { is: sendClaimOf(thread, draftId)?.attemptId === draft.attemptId ? "good" : "not claimed" };
}
