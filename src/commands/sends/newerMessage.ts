import type { Draft } from "#streams/draft/draft.ts";
import { newerHumanMessage } from "#streams/draft/staleness.ts";
import type { Dependencies } from "../dependencies.ts";
import { loadThread } from "../threads/threads.ts";
import { waitUntilFiled } from "./barrier.ts";

/** Returns the newest message on a thread, if it is newer than the answered one. Waits for acknowledged mail to be filed. */
export async function newerMessageOf(
  deps: Dependencies,
  { identityId, threadId, basedOnNumber }: Pick<Draft, "identityId" | "threadId" | "basedOnNumber">,
): Promise<string | null> {
  await waitUntilFiled(deps, identityId);
  return newerHumanMessage((await loadThread(deps, threadId)).state, { basedOnNumber })?.messageId ?? null;
}
