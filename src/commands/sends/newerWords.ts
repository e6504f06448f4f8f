import type { Draft } from "#streams/draft/draft.ts";
import { newerWord } from "#streams/draft/staleness.ts";
import type { Dependencies } from "../dependencies.ts";
import { loadThread } from "../threads/threads.ts";
import { waitUntilFiled } from "./barrier.ts";

/** Returns the newest message on a thread, if it is newer than the answered one. Waits for acknowledged mail to be filed. */
export async function newerWordOf(
  deps: Dependencies,
  { identityId, threadId, basedOnNumber }: Pick<Draft, "identityId" | "threadId" | "basedOnNumber">,
): Promise<string | null> {
  await waitUntilFiled(deps, identityId);
  return newerWord((await loadThread(deps, threadId)).state, { basedOnNumber })?.messageId ?? null;
}
