import { draftIdsOfIdentity } from "#projections/drafts/queries.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import { draftEvents } from "#src/commands/drafts/draftHistories.ts";
import type { Cause } from "#src/commands/handle.ts";
import { requireNotPaused } from "#src/commands/installation.ts";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { idOf, type Recorded } from "#streams/event.ts";
import { causedBy, causeOfTimer, traced } from "./cause.ts";
import type { Process, ProcessContext } from "./process.ts";

const name = "escalateUnanswered";
const timerName = "escalate";

/** From each of these on, somebody has to decide. */
const asking = ["DraftSubmitted", "DraftEdited", "DraftReturnedToPending"];

/**
 * A pending draft that nobody decided about in time goes to the identity's secondary channel, once a version. The time runs from that version
 * on, and is looked up again whenever a timer is due or the identity changes; whether it is still undecided, the draft's own stream says.
 */
export function escalateUnanswered(deps: Dependencies): Process {
  async function waitOrEscalate(draftId: string, cause: Cause, { timers }: Pick<ProcessContext, "timers">) {
    const { state: draft } = await deps.drafts.load(draftId);
    if (draft.status !== "pending" || draft.escalatedVersion >= draft.version) return;
    const { state: identity } = await deps.identities.load(draft.identityId);
    const { secondaryApprovalChannel: channel, escalationDelayMinutes: delay } = identity;
    if (channel === null || delay === null || identity.deleted) return timers.cancel(draftId, timerName);
    const due = new Date((await pendingSince(draftId)) + delay * 60_000);
    if (due > deps.clock.now())
      return timers.set({ key: draftId, name: timerName, dueAt: due, payload: traced(cause) });
    await requireNotPaused(deps);
    const escalate = { type: "EscalateDraft", version: draft.version, channelType: channel.type } as const;
    await deps.drafts.handle(draftId, escalate, cause);
  }

  async function pendingSince(draftId: string): Promise<number> {
    const since = (await draftEvents(deps, draftId)).findLast(({ type }) => asking.includes(type));
    return Date.parse(since?.metadata.at as string);
  }

  const onAsking = (event: Recorded, context: ProcessContext) =>
    waitOrEscalate(idOf(event.stream), causedBy(event, name), context);
  const onDecided = (event: Recorded, { timers }: ProcessContext) => timers.cancel(idOf(event.stream), timerName);

  return {
    name,
    categories: ["draft", "identity"],
    keyOf: (event) => idOf(event.stream),
    on: {
      ...Object.fromEntries(asking.map((type) => [type, onAsking])),
      DraftApproved: onDecided,
      DraftRejected: onDecided,
      DraftQueued: onDecided,
      DraftMarkedStale: onDecided,
      DraftFailed: onDecided,
      IdentityUpdated: async (event, context) => {
        const { changes } = event.data;
        if (!("secondaryApprovalChannel" in changes) && !("escalationDelayMinutes" in changes)) return;
        if (!(await deps.projected(event.position))) throw new Unavailable("the read models lag behind");
        const workspaceId = event.metadata.workspaceId as string;
        const cause = causedBy(event, name);
        const pending = { identityId: idOf(event.stream), statuses: ["pending"] };
        for (const draftId of await draftIdsOfIdentity(deps.reads, workspaceId, pending)) {
          await waitOrEscalate(draftId, cause, context);
        }
      },
    },
    onTimer: (timer, context) => waitOrEscalate(timer.key, causeOfTimer(timer.payload, name), context),
  };
}
