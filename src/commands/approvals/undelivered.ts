import type { MailOrigin } from "#src/mail/out/messageIds.ts";
import { entriesOf } from "#streams/idMap.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { loadThread } from "../threads/threads.ts";

/**
 * Records that an approval mail of ours came back: its question reached nobody. Known by the origin of its Message-ID, and looked for among
 * the thread's open drafts, since only a pending one still needs an answer. `evidence`: who says so, in words.
 */
export async function recordUndelivered(
  deps: Dependencies,
  { origin, evidence }: { origin: MailOrigin; evidence: string },
  cause: Cause,
): Promise<void> {
  const { attemptId: notificationId, threadId } = origin;
  const { state: thread } = await loadThread(deps, threadId);
  for (const [draftId] of entriesOf(thread.drafts)) {
    const { state: draft } = await deps.drafts.load(draftId);
    const asked = draft.notified.open[notificationId];
    if (asked === undefined || draft.status !== "pending" || asked.version !== draft.version) continue;
    const error = `the approval mail came back as undeliverable: ${evidence}`;
    const failed = { type: "RecordNotificationFailed", notificationId, error, final: true } as const;
    await deps.drafts.handle(draftId, failed, { ...cause, workspaceId: draft.workspaceId });
  }
}
