import { draftIdsOfIdentity } from "#projections/drafts/queries.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import { draftEvents } from "#src/commands/drafts/draftHistories.ts";
import { requireNotPaused } from "#src/commands/installation.ts";
import { idOf, type Recorded } from "#streams/event.ts";
import type { IdentitySettings } from "#streams/identity/events.ts";
import type { Acting, Process, ProcessContext } from "./process.ts";

const timer = "escalate";
/** Due at once, after settings have changed. It has a name of its own: what goes by the settings from before, at that moment, cannot take it back. */
const settingsChanged = "settings changed";

/** From each of these on, somebody has to decide. */
const asking = ["DraftSubmitted", "DraftEdited", "DraftReturnedToPending"];

/** Settings of an identity that say when, and to whom, a draft escalates. */
const timeChanges: readonly (keyof IdentitySettings)[] = [
  "secondaryApprovalChannel",
  "escalationDelayMinutes",
  "approvalsRequired",
];

/**
 * A pending draft that nobody decided about in time goes to the identity's secondary channel, once a version. The time runs from that version
 * on, and is looked up again whenever a timer is due or the identity changes; whether it is still undecided, the draft's own stream says.
 * If more than one has to approve, it goes there at once. A timer of a draft that was decided finds nothing to do: to cancel what mostly is not there would
 * cost more.
 */
export function escalateUnanswered(deps: Dependencies): Process {
  async function waitOrEscalate(draftId: string, { cause, timers }: Acting): Promise<void> {
    const { state: draft } = await deps.drafts.load(draftId);
    if (draft.status !== "pending" || draft.escalatedVersion >= draft.version) return;
    const { state: identity } = await deps.identities.load(draft.identityId);
    const { secondaryApprovalChannel: channel, escalationDelayMinutes: delay } = identity;
    if (channel === null || delay === null || identity.deleted) return timers.cancel(draftId, timer);
    // If several have to approve, both channels are asked from the start: nobody of the first may be enough.
    const waitMs = identity.approvalsRequired > 1 ? 0 : delay * 60_000;
    const dueAt = new Date((await pendingSince(draftId)) + waitMs);
    if (dueAt > deps.clock.now()) return timers.set({ key: draftId, name: timer, dueAt });
    await requireNotPaused(deps);
    const escalate = { type: "EscalateDraft", version: draft.version, channelType: channel.type } as const;
    await deps.drafts.handle(draftId, escalate, cause);
  }

  async function pendingSince(draftId: string): Promise<number> {
    const since = (await draftEvents(deps, draftId)).findLast(({ type }) => asking.includes(type));
    return Date.parse(since?.metadata.at as string);
  }

  const onAsking = (event: Recorded, context: ProcessContext) => waitOrEscalate(idOf(event.stream), context);

  return {
    name: "escalateUnanswered",
    categories: ["draft", "identity"],
    keyOf: (event) => idOf(event.stream),
    // If no identity ever had a second channel, there is nobody to go to, and no timer to cancel.
    concerns: ({ type, data }, { furtherChannels }) =>
      type === "IdentityUpdated" ? timeChanges.some((setting) => setting in data.changes) : furtherChannels,
    on: {
      ...Object.fromEntries(asking.map((type) => [type, onAsking])),
      IdentityUpdated: async (event, context) => {
        if (!(await context.reached(event.position, ["drafts"]))) return { waitFor: event.position, of: ["drafts"] };
        const workspaceId = event.metadata.workspaceId as string;
        const pending = { identityId: idOf(event.stream), statuses: ["pending"] };
        // Under its own key each looks up when its time comes, which may have come: there may be ten thousand.
        for (const draftId of await draftIdsOfIdentity(deps.reads, workspaceId, pending)) {
          await context.timers.set({ key: draftId, name: settingsChanged, inMs: 0 });
        }
        return undefined;
      },
    },
    onTimer: ({ key: draftId }, context) => waitOrEscalate(draftId, context),
  };
}
