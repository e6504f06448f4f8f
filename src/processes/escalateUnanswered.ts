import type { Dependencies } from "#src/commands/dependencies.ts";
import { draftEvents } from "#src/commands/drafts/draftHistories.ts";
import { requireNotPaused } from "#src/commands/installation.ts";
import { openChangesRequest } from "#streams/draft/draft.ts";
import { idOf, type Recorded } from "#streams/event.ts";
import type { Acting, Process, ProcessContext } from "./process.ts";
import { escalationSettings, recheckPending } from "./recheckPending.ts";

const timer = "escalate";

/** Events after which an approver has to decide. */
const asking = ["DraftSubmitted", "DraftEdited", "DraftReturnedToPending"];
/** Events after which approvers who waited for changes have to decide again. */
const waitEnds = ["ChangesRequestWithdrawn", "ChangesReminded"];

const timeOf = (event: Recorded | undefined): number => Date.parse(event?.metadata.at as string);

/** Returns the milliseconds in which approvers waited for changes, up to the reminder of each request. */
function waitedForChangesMs(events: readonly Recorded[]): number {
  let waitedMs = 0;
  let since: number | null = null;
  for (const event of events) {
    if (event.type === "ChangesRequested") since = timeOf(event);
    if (since === null || !waitEnds.includes(event.type)) continue;
    waitedMs += timeOf(event) - since;
    since = null;
  }
  return waitedMs;
}

/**
 * Escalates a pending draft that was not decided in time to the identity's secondary channel, once per version. The delay starts with the
 * version, and is computed again whenever a timer is due or the identity changes. The draft's stream says if the draft is still undecided.
 * If several approvals are required, the draft escalates at once. Timers of decided drafts are not cancelled: that would cost more than
 * letting them find nothing to do.
 */
export function escalateUnanswered(deps: Dependencies): Process {
  async function waitOrEscalate(draftId: string, { cause, timers }: Acting): Promise<void> {
    const { state: draft } = await deps.drafts.load(draftId);
    if (draft.status !== "pending" || draft.escalatedVersion >= draft.version) return;
    // The delay does not run while the agent makes changes. The end of that wait starts the timer again.
    if (openChangesRequest(draft)?.reminded === false) return timers.cancel(draftId, timer);
    const { state: identity } = await deps.identities.load(draft.identityId);
    const { secondaryApprovalChannel: channel, escalationDelayMinutes: delay } = identity;
    if (channel === null || delay === null || identity.deleted) return timers.cancel(draftId, timer);
    // If several approvals are required, both channels are asked from the start, because the primary channel's approvers may be too few for
    // the quorum.
    const waitMs = identity.approvalsRequired > 1 ? 0 : delay * 60_000;
    const dueAt = new Date((await pendingSince(draftId)) + waitMs);
    if (dueAt > deps.clock.now()) return timers.set({ key: draftId, name: timer, dueAt });
    await requireNotPaused(deps);
    const escalate = { type: "EscalateDraft", version: draft.version, channelType: channel.type } as const;
    await deps.drafts.handle(draftId, escalate, cause);
  }

  async function pendingSince(draftId: string): Promise<number> {
    const events = await draftEvents(deps, draftId);
    const asked = events.findLastIndex(({ type }) => asking.includes(type));
    return timeOf(events[asked]) + waitedForChangesMs(events.slice(asked + 1));
  }

  const onAsking = (event: Recorded, context: ProcessContext) => waitOrEscalate(idOf(event.stream), context);

  return {
    name: "escalateUnanswered",
    categories: ["draft", "identity"],
    keyOf: (event) => idOf(event.stream),
    // If no identity ever had a second channel, there is nothing to escalate to and no timer to cancel.
    concerns: ({ type, data }, { furtherChannels }) =>
      type === "IdentityUpdated" ? escalationSettings.some((setting) => setting in data.changes) : furtherChannels,
    on: {
      ...Object.fromEntries([...asking, ...waitEnds].map((type) => [type, onAsking])),
      IdentityUpdated: recheckPending(deps),
    },
    onTimer: ({ key: draftId }, context) => waitOrEscalate(draftId, context),
  };
}
