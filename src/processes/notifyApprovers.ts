import { draftIdsOfIdentity } from "#projections/drafts/queries.ts";
import type { ReadModel } from "#projections/names.ts";
import type { Channels } from "#src/channels/channel.ts";
import { askApprovers, type ChannelSlot, channelOf } from "#src/commands/approvals/askApprovers.ts";
import { hasOpenRequest, openRequestsOf, type UnlessAsked } from "#src/commands/approvals/openRequests.ts";
import { hasApproved } from "#src/commands/approvals/voters.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import { requireNotPaused } from "#src/commands/installation.ts";
import { identitiesNaming } from "#src/commands/serviceMail/identitiesNaming.ts";
import { openChangesRequest } from "#streams/draft/draft.ts";
import { answeredBy, askedSlots, reopensQuestion } from "#streams/draft/notification.ts";
import { idOf, type Recorded } from "#streams/event.ts";
import type { IdentitySettings } from "#streams/identity/events.ts";
import type { ServiceMailEvent } from "#streams/serviceMail/events.ts";
import { retryAfterMs } from "./notificationRetries.ts";
import { isOldNews } from "./oldNews.ts";
import type { Process, ProcessContext, WaitForModels } from "./process.ts";

/** Read models, besides the streams, from which the approval request is rendered. */
const shown: readonly ReadModel[] = ["drafts", "messages", "threads"];

type ApproverQuestion = {
  draftId: string;
  slot: ChannelSlot;
  tries: number;
  /**
   * Version to ask about if the draft escalated or one of its links was closed; a newer version is not asked about. null: the newest
   * version.
   */
  version: number | null;
  /** Time of the event that caused the request (ISO 8601). If absent, the approvers are asked however late it is. */
  happenedAt?: string;
  /**
   * Set if approvers who were already asked about this version are not asked again: this is the first request about it, or a channel was
   * just named.
   */
  unlessAsked?: UnlessAsked;
};

/**
 * Asks a draft's approvers: when the draft is submitted or changed, when the agent or the holder of an expired link asks again, when a
 * request for changes is withdrawn, and when an approver resumes stopped mail. Asks the secondary channel when the draft escalates, and a
 * new approver when a channel changes. After a link was closed, sends a new one, once per version and cause. Asks all of them once more
 * when every request has run out (expireRequests.ts).
 */
export function notifyApprovers(deps: Dependencies, channels: Channels): Process {
  async function ask(
    { draftId, slot, tries, version, happenedAt, unlessAsked }: ApproverQuestion,
    { cause, timers, reached }: ProcessContext,
  ): Promise<WaitForModels | undefined> {
    const { state: draft, position } = await deps.drafts.load(draftId);
    // Nobody is asked while an approver waits for changes.
    if (openChangesRequest(draft) !== null) return undefined;
    if (draft.status !== "pending" || draft.notified.answered.includes(answeredBy(cause.causationId, slot)))
      return undefined;
    // If the draft has a newer version than the escalated one, that version escalates after its own delay.
    if (version !== null && version !== draft.version) return undefined;
    // The secondary channel will be asked when this version escalates.
    if (slot === "secondary" && draft.escalatedVersion !== draft.version) return undefined;
    // If the identity has no approver, one that is named later is asked at that time.
    const { state: identity } = await deps.identities.load(draft.identityId);
    if (channelOf(identity, slot) === null) return undefined;
    if (unlessAsked && (await hasOpenRequest(deps, { draftId, draft, identity, slot }, unlessAsked))) return undefined;
    // The request is rendered from read models, so they must know this draft first.
    if (!(await reached(position, shown))) return { waitFor: position, of: shown };
    // The pause is checked before the request is recorded, because otherwise each try during a long pause would record a request whose
    // tokens nobody receives.
    await requireNotPaused(deps);
    const nextTryMs = retryAfterMs(tries);
    const lastTry = nextTryMs === undefined;
    const question = { channels, draftId, draft, slot, lastTry, late: isOldNews(deps, happenedAt) };
    const asking = await askApprovers(deps, question, cause);
    const name = `retry ${slot}`;
    const inMs = asking.again ? (asking.inMs ?? nextTryMs) : undefined;
    if (inMs === undefined) {
      // A waiting retry of an older request would ask a second time, so cancel it.
      await timers.cancel(draftId, name);
      return undefined;
    }
    const waited = asking.again && asking.inMs !== undefined;
    // Waiting for quota does not count as a try and has no time limit, because the service's own quota must not leave an approver unasked.
    const payload = waited ? { slot, version, tries } : { slot, version, happenedAt, tries: tries + 1 };
    await timers.set({ key: draftId, name, inMs, payload });
    return undefined;
  }

  const first = { tries: 0, version: null } as const;
  const onDraft = (event: Recorded, context: ProcessContext) =>
    ask({ ...first, draftId: idOf(event.stream), slot: "primary", happenedAt: event.metadata.at }, context);
  const onNew = (event: Recorded, context: ProcessContext) => {
    const asking = { ...first, draftId: idOf(event.stream), happenedAt: event.metadata.at };
    return ask({ ...asking, slot: "primary", unlessAsked: "before" }, context);
  };
  const onSecond = async (event: Recorded, unlessAsked: UnlessAsked | undefined, context: ProcessContext) => {
    const draftId = idOf(event.stream);
    const { state: draft } = await deps.drafts.load(draftId);
    const asking = { ...first, draftId, version: draft.version, happenedAt: event.metadata.at };
    return ask({ ...asking, slot: "secondary", ...(unlessAsked && { unlessAsked }) }, context);
  };
  /**
   * Asks again at the request of the agent, or of an expired link's holder through the link's channel. If several approvals are required,
   * asks both channels, because both were asked from the start. So it does after a request for changes, which closed the buttons of both.
   */
  async function onAskedAgain(event: Recorded, context: ProcessContext): Promise<WaitForModels | undefined> {
    const { state: draft } = await deps.drafts.load(idOf(event.stream));
    const { state: identity } = await deps.identities.load(draft.identityId);
    const { slot = "primary" } = event.data as { slot?: ChannelSlot };
    const isOne = identity.approvalsRequired === 1 && event.type !== "ChangesRequestWithdrawn";
    return askSlots(isOne ? [slot] : ["primary", "secondary"], event, context);
  }
  /** Asks each channel that was asked about the version so far, as the identity has it now. */
  async function onRepeated(event: Recorded, context: ProcessContext): Promise<WaitForModels | undefined> {
    const { state: draft } = await deps.drafts.load(idOf(event.stream));
    return event.data.version === draft.version ? askSlots(askedSlots(draft), event, context) : undefined;
  }
  async function askSlots(
    slots: readonly ChannelSlot[],
    event: Recorded,
    context: ProcessContext,
  ): Promise<WaitForModels | undefined> {
    for (const slot of slots) {
      const waiting = await (slot === "primary" ? onDraft(event, context) : onSecond(event, undefined, context));
      if (waiting) return waiting;
    }
    return undefined;
  }
  /**
   * Handles a draft that returned to pending. If its approver undid the approval, the open request stays valid and is not sent again. If
   * the draft had escalated, the request to the secondary channel may have been due while the draft was approved, when nobody is asked, so
   * that channel is asked now.
   */
  async function onReturned(event: Recorded, context: ProcessContext): Promise<WaitForModels | undefined> {
    const { state: draft } = await deps.drafts.load(idOf(event.stream));
    const { state: identity } = await deps.identities.load(draft.identityId);
    const isWith = (slot: ChannelSlot) => openRequestsOf(deps, { draft, identity, slot }).length > 0;
    const stays = event.data.withdrawn !== undefined && (isWith("primary") || isWith("secondary"));
    if (!stays && identity.approvalsRequired > 1) return onAskedAgain(event, context);
    const waiting = stays ? undefined : await onDraft(event, context);
    return waiting ?? onSecond(event, "before", context);
  }

  /** Asks after an edit. If an approver edited the draft and thereby approved it, asks the other approvers only. */
  async function onEdited(event: Recorded, context: ProcessContext): Promise<WaitForModels | undefined> {
    const { state: draft } = await deps.drafts.load(idOf(event.stream));
    const { state: identity } = await deps.identities.load(draft.identityId);
    const { approvalChannel: channel } = identity;
    if (channel?.type === "email" && hasApproved(draft, channel.config.to as string)) return undefined;
    return onNew(event, context);
  }

  const onEscalated = (event: Recorded, context: ProcessContext) => {
    const version = event.data.version as number;
    const asking = { ...first, draftId: idOf(event.stream), version, happenedAt: event.metadata.at };
    return ask({ ...asking, slot: "secondary", unlessAsked: "before" }, context);
  };

  async function onLinkClosed(event: Recorded, context: ProcessContext): Promise<WaitForModels | undefined> {
    const draftId = idOf(event.stream);
    const { state: draft } = await deps.drafts.load(draftId);
    const { notificationId } = event.data as { notificationId: string };
    const asked = draft.notified.open[notificationId];
    if (!asked || !reopensQuestion(draft, notificationId)) return undefined;
    const { version, channel } = asked;
    return ask({ ...first, draftId, slot: channel.slot, version, happenedAt: event.metadata.at }, context);
  }

  /**
   * Asks the approvers of a changed channel about pending drafts, because the approvers asked before can no longer decide and the drafts
   * would wait for ever.
   */
  async function onIdentityUpdated(event: Recorded, context: ProcessContext): Promise<WaitForModels | undefined> {
    const { changes } = event.data as { changes: Partial<IdentitySettings> };
    const slots = changedSlots(changes);
    if (slots.length === 0) return undefined;
    if (!(await context.reached(event.position, ["drafts"]))) return { waitFor: event.position, of: ["drafts"] };
    await askOfPending({ identityId: idOf(event.stream), slots }, event, context);
    return undefined;
  }

  /** Asks an approver who resumed stopped mail and could not be reached before. */
  async function onResumed(event: Recorded, context: ProcessContext): Promise<WaitForModels | undefined> {
    const of: readonly ReadModel[] = ["identities", "drafts"];
    if (!(await context.reached(event.position, of))) return { waitFor: event.position, of };
    for (const naming of await identitiesNaming(deps, event.data as ServiceMailEvent["data"])) {
      await askOfPending(naming, event, context);
    }
    return undefined;
  }

  /**
   * Sets a timer for each pending draft of an identity, to ask through these channels where they were not asked yet. Each timer runs under
   * its draft's key, so that two requests about one draft never run concurrently. Drafts are not loaded here, because there may be ten
   * thousand.
   */
  async function askOfPending(
    { identityId, slots }: { identityId: string; slots: ChannelSlot[] },
    event: Recorded,
    { timers }: ProcessContext,
  ): Promise<void> {
    const workspaceId = event.metadata.workspaceId as string;
    const payload = { ...first, happenedAt: event.metadata.at, unlessAsked: { namedAt: event.position } };
    for (const key of await draftIdsOfIdentity(deps.reads, workspaceId, { identityId, statuses: ["pending"] })) {
      for (const slot of slots)
        await timers.set({ key, name: `named ${slot}`, inMs: 0, payload: { ...payload, slot } });
    }
  }

  return {
    name: "notifyApprovers",
    categories: ["draft", "identity", "serviceMail"],
    keyOf: (event) => idOf(event.stream),
    on: {
      DraftSubmitted: onNew,
      DraftEdited: onEdited,
      DraftReturnedToPending: onReturned,
      ChangesRequestWithdrawn: onAskedAgain,
      NotifyRequested: onAskedAgain,
      RequestsRepeated: onRepeated,
      DraftEscalated: onEscalated,
      ApprovalLinkClosed: onLinkClosed,
      IdentityUpdated: onIdentityUpdated,
      ServiceMailResumed: onResumed,
    },
    onTimer: ({ key, payload }, context) =>
      ask({ ...(payload as Omit<ApproverQuestion, "draftId">), draftId: key }, context),
  };
}

const changedSlots = (changes: Partial<IdentitySettings>): ChannelSlot[] => [
  ...(changes.approvalChannel ? (["primary"] as const) : []),
  ...(changes.secondaryApprovalChannel ? (["secondary"] as const) : []),
];
