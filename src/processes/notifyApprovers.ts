import { draftIdsOfIdentity } from "#projections/drafts/queries.ts";
import type { Channels } from "#src/channels/channel.ts";
import { askApprovers, type ChannelSlot, channelOf } from "#src/commands/approvals/askApprovers.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import { requireNotPaused } from "#src/commands/installation.ts";
import type { Draft } from "#streams/draft/draft.ts";
import { answeredBy } from "#streams/draft/notified.ts";
import { idOf, type Recorded } from "#streams/event.ts";
import type { ApprovalChannel, IdentitySettings } from "#streams/identity/events.ts";
import { isOldNews } from "./oldNews.ts";
import { reachAgainAfter } from "./peopleRetries.ts";
import type { Process, ProcessContext, WaitFor } from "./process.ts";

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
    { cause, timers, reached }: ProcessContext,
  ): Promise<WaitFor | undefined> {
    const { state: draft, position } = await deps.drafts.load(draftId);
    if (draft.status !== "pending" || draft.notified.answered.includes(answeredBy(cause.causationId, slot)))
      return undefined;
    // A version that came after the escalation has its own time to be decided about.
    if (escalated !== null && escalated !== draft.version) return undefined;
    // What approvers are shown comes from the read models, which have to know this draft first.
    if (!(await reached(position, ["drafts", "messages"]))) return { waitFor: position, of: ["drafts", "messages"] };
    // Before the request is on record: a pause of days leaves one, and no token that nobody got.
    await requireNotPaused(deps);
    const inMs = reachAgainAfter(tries);
    const lastTry = inMs === undefined;
    const question = { channels, draftId, draft, slot, lastTry, late: isOldNews(deps, happenedAt) };
    const done = await askApprovers(deps, question, cause);
    if (done || inMs === undefined) return undefined;
    const payload = { slot, escalated, happenedAt, tries: tries + 1 };
    await timers.set({ key: draftId, name: `retry ${slot}`, inMs, payload });
    return undefined;
  }

  const first = { tries: 0, escalated: null } as const;
  const onDraft = (event: Recorded, context: ProcessContext) =>
    ask({ ...first, draftId: idOf(event.stream), slot: "primary", happenedAt: event.metadata.at }, context);
  const onEscalated = (event: Recorded, context: ProcessContext) => {
    const escalated = event.data.version as number;
    return ask(
      { ...first, draftId: idOf(event.stream), slot: "secondary", escalated, happenedAt: event.metadata.at },
      context,
    );
  };

  /** Those who were asked before cannot decide any more: without this the drafts would wait for ever. */
  async function onIdentityUpdated(event: Recorded, context: ProcessContext): Promise<WaitFor | undefined> {
    const { changes } = event.data as { changes: Partial<IdentitySettings> };
    const slots = changedSlots(changes);
    if (slots.length === 0) return undefined;
    if (!(await context.reached(event.position, ["drafts"]))) return { waitFor: event.position, of: ["drafts"] };
    const identityId = idOf(event.stream);
    const workspaceId = event.metadata.workspaceId as string;
    const { state: identity } = await deps.identities.load(identityId);
    for (const draftId of await draftIdsOfIdentity(deps.reads, workspaceId, { identityId, statuses: ["pending"] })) {
      const { state: draft } = await deps.drafts.load(draftId);
      for (const slot of slots) {
        if (wasAsked(draft, slot, channelOf(identity, slot))) continue;
        const escalated = slot === "secondary" ? draft.escalatedVersion : null;
        const asking = { ...first, draftId, slot, escalated, happenedAt: event.metadata.at };
        const waiting = await ask(asking, context);
        if (waiting) return waiting;
      }
    }
    return undefined;
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
      return ask({ draftId: key, slot, escalated, tries, happenedAt }, context);
    },
  };
}

const changedSlots = (changes: Partial<IdentitySettings>): ChannelSlot[] => [
  ...(changes.approvalChannel ? (["primary"] as const) : []),
  ...(changes.secondaryApprovalChannel ? (["secondary"] as const) : []),
];

/** This very mailbox has been asked about this version: its links work. One that waits for a mail with others has none yet. */
const wasAsked = (draft: Draft, slot: ChannelSlot, channel: ApprovalChannel | null): boolean =>
  channel?.type === "email" &&
  Object.values(draft.notified.open).some(
    (asked) =>
      asked.version === draft.version &&
      asked.tokens.length > 0 &&
      asked.channel.slot === slot &&
      asked.channel.address === channel.config.to,
  );
