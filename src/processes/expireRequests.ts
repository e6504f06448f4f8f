import { linkExpiry } from "#src/commands/approvals/askApprovers.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import { draftEvents } from "#src/commands/drafts/draftHistories.ts";
import { requireNotPaused } from "#src/commands/installation.ts";
import { isOvertaken } from "#src/commands/sends/newerMessage.ts";
import { commandThread } from "#src/commands/threads/threads.ts";
import type { Draft } from "#streams/draft/draft.ts";
import { openChangesRequest } from "#streams/draft/draft.ts";
import type { ApprovalRequest } from "#streams/draft/events.ts";
import { askedSlots, requestsRunOutAt, wasAskedOnceMore } from "#streams/draft/expiry.ts";
import { idOf, type Recorded } from "#streams/event.ts";
import type { Identity } from "#streams/identity/decider.ts";
import { workspaceStream } from "#streams/workspace/events.ts";
import type { NotYet, Process, ProcessContext } from "./process.ts";
import { escalationSettings, recheckPending } from "./recheckPending.ts";

const timer = "expire";

/**
 * If every request about a pending draft's version has run out, has the approvers asked once more (notifyApprovers.ts); if that runs out
 * too, marks the requests as expired and the thread for review. A draft whose message was overtaken is marked at once, because an approval
 * would not send it. Nothing happens while the secondary channel is still to be asked, while changes are requested, and during a pause; it
 * is made up for afterwards. Timers of decided drafts are not cancelled: that would cost more than letting them find nothing to do.
 */
export function expireRequests(deps: Dependencies): Process {
  async function onDue(draftId: string, { cause, timers }: ProcessContext): Promise<NotYet | undefined> {
    const { state: draft } = await deps.drafts.load(draftId);
    const ranOutAt = draft.status === "pending" ? requestsRunOutAt(draft) : null;
    // The approvers are asked again when the request for changes is withdrawn or answered.
    if (ranOutAt === null || openChangesRequest(draft) !== null) return undefined;
    const now = deps.clock.now();
    const dueAt = new Date(ranOutAt);
    if (dueAt > now) {
      await timers.set({ key: draftId, name: timer, dueAt });
      return undefined;
    }
    const { state: identity } = await deps.identities.load(draft.identityId);
    if (identity.deleted || escalates(identity, draft)) return undefined;
    await requireNotPaused(deps);
    const { state: workspace, revision } = await deps.workspaces.load(draft.workspaceId);
    if (workspace.sendingPaused) return { setAside: [{ stream: workspaceStream(draft.workspaceId), revision }] };
    const wasRepeated = wasAskedOnceMore(await draftEvents(deps, draftId), draft.version);
    const askAgain = !wasRepeated && !(await isOvertaken(deps, { draftId, draft }, cause));
    const times = { ranOutAt, at: now.toISOString(), until: linkExpiry(deps) };
    await deps.drafts.handle(draftId, { type: "ExpireRequests", ...times, askAgain }, cause);
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

/** True if the identity's secondary channel is still to be asked about the draft's version: the request to it begins the time anew. */
const escalates = (
  { secondaryApprovalChannel: channel, escalationDelayMinutes: delay }: Identity,
  draft: Draft,
): boolean => channel !== null && delay !== null && !askedSlots(draft).includes("secondary");
