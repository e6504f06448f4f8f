import type { Draft } from "#streams/draft/draft.ts";
import { newerWord } from "#streams/draft/staleness.ts";
import type { Dependencies } from "../dependencies.ts";
import { changeDraft } from "../drafts/changeDraft.ts";
import type { Cause } from "../handle.ts";
import { loadThread } from "../threads/threads.ts";
import { loadFiled } from "./barrier.ts";

/** The newest message on the draft's thread, if it is newer than the one that the draft answers. Waits for acknowledged mail to be filed. */
export async function newerWordOf(deps: Dependencies, draft: Draft): Promise<string | null> {
  const { identityId, threadId } = draft;
  const { found } = await loadFiled(deps, { identityId }, () => loadThread(deps, threadId));
  return newerWord(found.state, draft)?.messageId ?? null;
}

/** The customer wrote again: the draft is stale. What it still holds is given back by a process. */
export async function endStale(
  deps: Dependencies,
  { draftId, draft, newMessageId }: { draftId: string; draft: Draft; newMessageId: string },
  cause: Cause,
): Promise<void> {
  const command = { type: "MarkStale", newMessageId, attemptId: draft.attemptId } as const;
  await changeDraft(deps, { draftId, command }, cause);
}
