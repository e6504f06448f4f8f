import { expireRequests as expire } from "#src/commands/approvals/expireRequests.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import { commandThread } from "#src/commands/threads/threads.ts";
import type { ApprovalRequest } from "#streams/draft/events.ts";
import { idOf, type Recorded } from "#streams/event.ts";
import type { NotYet, Process, ProcessContext } from "./process.ts";
import { escalationSettings, recheckPending } from "./recheckPending.ts";

const timer = "expire";

/**
 * Has the approvers of a pending draft asked once more when their requests have run out (notifyApprovers.ts), and marks the draft's thread
 * for review when these run out too. What a pause stopped happens when it ends. Timers of decided drafts are not cancelled: that would cost
 * more than letting them find nothing to do.
 */
export function expireRequests(deps: Dependencies): Process {
  async function onDue(draftId: string, { cause, timers }: ProcessContext): Promise<NotYet | undefined> {
    const next = await expire(deps, draftId, cause);
    if (next && "paused" in next) return { setAside: [next.paused] };
    if (next) await timers.set({ key: draftId, name: timer, dueAt: next.dueAt });
    return undefined;
  }

  async function onExpired(event: Recorded, { cause }: ProcessContext): Promise<void> {
    const { state: draft } = await deps.drafts.load(idOf(event.stream));
    const because = "nobody decided about a draft while the requests to its approvers were valid";
    const command = { type: "UpdateThread", needsReview: true, because, once: event.id } as const;
    await commandThread(deps, { threadId: draft.threadId, command }, cause);
  }

  return {
    name: "expireRequests",
    categories: ["draft", "identity"],
    keyOf: (event) => idOf(event.stream),
    concerns: ({ type, data }) =>
      type !== "IdentityUpdated" || escalationSettings.some((setting) => setting in data.changes),
    later: {
      ApproversAsked: ({ data }: Recorded<{ type: string; data: ApprovalRequest }>) => ({
        name: timer,
        dueAt: new Date(data.expiresAt),
      }),
      RequestsRepeated: ({ data }: Recorded) => ({ name: timer, dueAt: new Date(data.until as string) }),
    },
    on: {
      RequestsExpired: onExpired,
      // The escalation that a draft waited for may never come now.
      IdentityUpdated: recheckPending(deps),
    },
    onTimer: ({ key: draftId }, context) => onDue(draftId, context),
  };
}
