import { Rejected } from "#streams/decider.ts";
import type { Priority, ThreadStatus } from "#streams/thread/events.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { commandThread } from "./threads.ts";

export type ThreadChanges = { status?: ThreadStatus; needsReview?: boolean; priority?: Priority };

/** Sets the given fields on a thread, or on the one it was merged into. Throws Rejected not_found. */
export async function updateThread(
  deps: Dependencies,
  { workspaceId, threadId, changes }: { workspaceId: string; threadId: string; changes: ThreadChanges },
  cause: Cause,
): Promise<{ position: number }> {
  const { state } = await deps.threads.load(threadId);
  if (!state.exists || state.workspaceId !== workspaceId) throw new Rejected("not_found", "no such thread");
  const command = { type: "UpdateThread", ...changes, because: "set through the API" } as const;
  return commandThread(deps, { threadId, command }, cause);
}
