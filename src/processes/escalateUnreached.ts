import { openRequestsOf } from "#src/commands/approvals/openRequests.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import type { Cause } from "#src/commands/handle.ts";
import { requireNotPaused } from "#src/commands/installation.ts";
import { commandThread } from "#src/commands/threads/threads.ts";
import type { Draft } from "#streams/draft/draft.ts";
import { idOf, type Recorded } from "#streams/event.ts";
import type { Process, ProcessContext } from "./process.ts";

type UnreachedRequest = { draftId: string; draft: Draft; notificationId: string };

/**
 * If an approval request finally reached nobody, escalates the draft to the identity's secondary channel at once. If there is no secondary
 * channel, or it is the one that failed, marks the thread for review. Also marks a thread whose approval links were closed twice, because
 * an outsider then reads the approval mail.
 */
export function escalateUnreached(deps: Dependencies): Process {
  async function onFailed(event: Recorded, { cause }: ProcessContext): Promise<void> {
    const draftId = idOf(event.stream);
    const { notificationId } = event.data as { notificationId: string };
    const { state: draft } = await deps.drafts.load(draftId);
    const asked = draft.notified.open[notificationId];
    if (asked === undefined || draft.status !== "pending" || asked.version !== draft.version) return;
    const { slot } = asked.channel;
    const closed = draft.notified.closed[notificationId] !== undefined;
    const { state: identity } = await deps.identities.load(draft.identityId);
    // Another request about this version has reached this channel's approvers.
    if (!closed && openRequestsOf(deps, { draft, identity, slot }).length > 0) return;
    const escalated = slot === "primary" && (await escalate({ draftId, draft, notificationId }, cause));
    if (escalated && !closed) return;
    const because = closed ? "approval links leaked" : "no approver of a draft could be reached";
    const command = { type: "UpdateThread", needsReview: true, because, once: event.id } as const;
    await commandThread(deps, { threadId: draft.threadId, command }, cause);
  }

  /** Escalates a draft. Returns false if there is no secondary channel, or if it was asked about this version and could not be reached. */
  async function escalate({ draftId, draft, notificationId }: UnreachedRequest, cause: Cause): Promise<boolean> {
    const { state: identity } = await deps.identities.load(draft.identityId);
    const { secondaryApprovalChannel: channel, deleted } = identity;
    if (channel === null || deleted || failedThereBefore(draft, notificationId)) return false;
    await requireNotPaused(deps);
    const command = { type: "EscalateDraft", version: draft.version, channelType: channel.type } as const;
    await deps.drafts.handle(draftId, command, cause);
    return true;
  }

  return {
    name: "escalateUnreached",
    categories: ["draft"],
    keyOf: (event) => idOf(event.stream),
    concerns: ({ data }) => data.final === true,
    on: { NotificationFailed: onFailed },
  };
}

/**
 * Returns true if an earlier request about this version finally failed at the secondary channel. `failed` is ordered by time of failure.
 */
function failedThereBefore({ notified: { open, failed }, version }: Draft, notificationId: string): boolean {
  const there = Object.values(open).filter((asked) => asked.version === version && asked.channel.slot === "secondary");
  const newest = failed.indexOf(there.at(-1)?.notificationId ?? "");
  return newest >= 0 && newest < failed.indexOf(notificationId);
}
