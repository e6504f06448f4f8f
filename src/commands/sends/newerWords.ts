import type { Draft } from "#streams/draft/draft.ts";
import { newerWord, staleDraft } from "#streams/draft/staleness.ts";
import type { Dependencies } from "../dependencies.ts";
import { changeDraft } from "../drafts/changeDraft.ts";
import type { Cause } from "../handle.ts";
import { loadThread } from "../threads/threads.ts";
import { loadFiled } from "./barrier.ts";

/**
 * The newest message on the draft's thread, if it is newer than the one that the draft answers. Waits for acknowledged mail to be filed: `withinMs`
 * milliseconds, by default the bound of the settings.
 */
export async function newerWordOf(
  deps: Dependencies,
  { identityId, threadId, basedOnNumber }: Pick<Draft, "identityId" | "threadId" | "basedOnNumber">,
  withinMs?: number,
): Promise<string | null> {
  const filed = { identityId, ...(withinMs !== undefined && { withinMs }) };
  const { found } = await loadFiled(deps, filed, () => loadThread(deps, threadId));
  return newerWord(found.state, { basedOnNumber })?.messageId ?? null;
}

/** Refuses to go on with a draft whose customer wrote again: it is stale from here on. Throws Rejected stale_draft. */
export async function requireNoNewerWord(
  deps: Dependencies,
  { draftId, draft, withinMs }: { draftId: string; draft: Draft; withinMs?: number },
  cause: Cause,
): Promise<void> {
  const newMessageId = await newerWordOf(deps, draft, withinMs);
  if (newMessageId === null) return;
  await endStale(deps, { draftId, draft, newMessageId }, cause);
  throw staleDraft(newMessageId);
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
