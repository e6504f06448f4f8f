import type { Draft } from "#streams/draft/draft.ts";
import { newerHumanMessage } from "#streams/draft/staleness.ts";
import { otherAnswers } from "#streams/thread/answers.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { loadThread, loadWholeThread } from "../threads/threads.ts";
import { waitUntilFiled } from "./barrier.ts";

/** Returns the newest message on a thread, if it is newer than the answered one. Waits for acknowledged mail to be filed. */
export async function newerMessageOf(
  deps: Dependencies,
  { identityId, threadId, basedOnNumber }: Pick<Draft, "identityId" | "threadId" | "basedOnNumber">,
): Promise<string | null> {
  await waitUntilFiled(deps, identityId);
  return newerHumanMessage((await loadThread(deps, threadId)).state, { basedOnNumber })?.messageId ?? null;
}

/**
 * True if the message that a draft answers was overtaken: a person wrote on its thread since, or another draft that answers it was sent or
 * is being sent. Waits for acknowledged mail to be filed.
 */
export async function isOvertaken(
  deps: Dependencies,
  { draftId, draft }: { draftId: string; draft: Draft },
  cause: Cause,
): Promise<boolean> {
  await waitUntilFiled(deps, draft.identityId);
  const { state: thread } = await loadWholeThread(deps, draft.threadId, cause);
  const { basedOnMessageId, basedOnNumber } = draft;
  if (newerHumanMessage(thread, draft) !== null) return true;
  return basedOnMessageId !== null && otherAnswers(thread, { draftId, basedOnNumber }).length > 0;
}
