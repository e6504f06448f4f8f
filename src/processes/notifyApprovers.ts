import { draftIdsOfIdentity } from "#projections/drafts/queries.ts";
import type { Channels } from "#src/channels/channel.ts";
import { askApprovers, type ChannelSlot, channelOf } from "#src/commands/approvals/askApprovers.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import type { Cause } from "#src/commands/handle.ts";
import { requireNotPaused } from "#src/commands/installation.ts";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import type { Draft } from "#streams/draft/draft.ts";
import { answeredBy } from "#streams/draft/notification.ts";
import { idOf, type Recorded } from "#streams/event.ts";
import type { ApprovalChannel, IdentitySettings } from "#streams/identity/events.ts";
import { causedBy, causeOfTimer, traced } from "./cause.ts";
import { isOldNews } from "./oldNews.ts";
import type { Process, ProcessContext } from "./process.ts";

/** Seconds before each further try to reach the approvers. */
const retrySeconds = [5, 30, 120, 600];

type Asking = {
  draftId: string;
  slot: ChannelSlot;
  tries: number;
  /** The version that nobody decided about in time, if that is why; null otherwise. */
  escalated: number | null;
  /** When that happened which is asked about (ISO 8601). Timers of before do not say it. */
  happenedAt?: string;
};

/**
 * A draft that waits for a person is shown to its approvers: when it is submitted, whenever it changes, and when the agent asks again; to
 * those of the secondary channel once it escalated; and to the new approver after a change of the channel.
 */
export function notifyApprovers(deps: Dependencies, channels: Channels): Process {
  async function ask(
    { draftId, slot, tries, escalated, happenedAt }: Asking,
    cause: Cause,
    { timers }: ProcessContext,
  ) {
    const { state: draft, position } = await deps.drafts.load(draftId);
    if (draft.status !== "pending" || draft.notified.answered.includes(answeredBy(cause.causationId, slot))) return;
    // A version that came after the escalation has its own time to be decided about.
    if (escalated !== null && escalated !== draft.version) return;
    // What approvers are shown comes from the read models, which have to know this draft first.
    if (!(await deps.projected(position))) throw new Unavailable("the read models lag behind");
    // Before the request is on record: a pause of days leaves one, and no token that nobody got.
    await requireNotPaused(deps);
    const again = retrySeconds[tries];
    const question = {
      channels,
      draftId,
      draft,
      slot,
      lastTry: again === undefined,
      late: isOldNews(deps, happenedAt),
    };
    const done = await askApprovers(deps, question, cause);
    if (done || again === undefined) return;
    const due = new Date(deps.clock.now().getTime() + again * 1000);
    await timers.set({
      key: draftId,
      name: `retry ${slot}`,
      dueAt: due,
      payload: { ...traced(cause), slot, escalated, happenedAt, tries: tries + 1 },
    });
  }

  const onDraft = (event: Recorded, context: ProcessContext) =>
    ask(
      { draftId: idOf(event.stream), slot: "primary", tries: 0, escalated: null, happenedAt: event.metadata.at },
      causedBy(event, "notifyApprovers"),
      context,
    );
  const onEscalated = (event: Recorded, context: ProcessContext) =>
    ask(
      {
        draftId: idOf(event.stream),
        slot: "secondary",
        tries: 0,
        escalated: event.data.version as number,
        happenedAt: event.metadata.at,
      },
      causedBy(event, "notifyApprovers"),
      context,
    );

  /** Those who were asked before cannot decide any more: without this the drafts would wait for ever. */
  async function onIdentityUpdated(event: Recorded, context: ProcessContext): Promise<void> {
    const { changes } = event.data as { changes: Partial<IdentitySettings> };
    const slots = changedSlots(changes);
    if (slots.length === 0) return;
    if (!(await deps.projected(event.position))) throw new Unavailable("the read models lag behind");
    const identityId = idOf(event.stream);
    const workspaceId = event.metadata.workspaceId as string;
    const { state: identity } = await deps.identities.load(identityId);
    for (const draftId of await draftIdsOfIdentity(deps.reads, workspaceId, { identityId, statuses: ["pending"] })) {
      const { state: draft } = await deps.drafts.load(draftId);
      for (const slot of slots) {
        if (wasAsked(draft, slot, channelOf(identity, slot))) continue;
        const escalated = slot === "secondary" ? draft.escalatedVersion : null;
        await ask(
          { draftId, slot, tries: 0, escalated, happenedAt: event.metadata.at },
          causedBy(event, "notifyApprovers"),
          context,
        );
      }
    }
  }

  return {
    name: "notifyApprovers",
    categories: ["draft", "identity"],
    keyOf: (event) => idOf(event.stream),
    on: {
      DraftSubmitted: onDraft,
      DraftEdited: onDraft,
      DraftReturnedToPending: onDraft,
      NotifyRequested: onDraft,
      DraftEscalated: onEscalated,
      IdentityUpdated: onIdentityUpdated,
    },
    onTimer: ({ key, payload }, context) => {
      const { slot = "primary", escalated = null, tries, happenedAt } = payload as Partial<Asking> & { tries: number };
      return ask(
        { draftId: key, slot, escalated, tries, happenedAt },
        causeOfTimer(payload, "notifyApprovers"),
        context,
      );
    },
  };
}

const changedSlots = (changes: Partial<IdentitySettings>): ChannelSlot[] => [
  ...(changes.approvalChannel ? (["primary"] as const) : []),
  ...(changes.secondaryApprovalChannel ? (["secondary"] as const) : []),
];

/** This very mailbox has been asked about this version: its links work. */
const wasAsked = (draft: Draft, slot: ChannelSlot, channel: ApprovalChannel | null): boolean =>
  channel?.type === "email" &&
  Object.values(draft.notified.open).some(
    (asked) =>
      asked.version === draft.version && asked.channel.slot === slot && asked.channel.address === channel.config.to,
  );
