import type { ChannelAnswer, Channels } from "#src/channels/channel.ts";
import type { Draft } from "#streams/draft/draft.ts";
import type { ApprovalRequest, Decision } from "#streams/draft/events.ts";
import type { Identity } from "#streams/identity/decider.ts";
import { type ApprovalChannel, identityStream } from "#streams/identity/events.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { isHostedHere, openedChannel } from "./approvalChannels.ts";
import { hashToken, tokenBytes } from "./approvalTokens.ts";
import { approvalView } from "./approvalViews.ts";
import { isBundled } from "./bundles.ts";
import { withCard } from "./cards.ts";
import { addressOf, moveChat } from "./channelAddresses.ts";
import { confirmCodeMac, newConfirmCode } from "./confirmCodes.ts";

/** The identity's first or second channel. */
export type ChannelSlot = ApprovalRequest["channel"]["slot"];

export const channelOf = (identity: Identity, slot: ChannelSlot): ApprovalChannel | null =>
  slot === "primary" ? identity.approvalChannel : identity.secondaryApprovalChannel;

type ApproversQuestion = {
  channels: Channels;
  draftId: string;
  draft: Draft;
  slot: ChannelSlot;
  lastTry: boolean;
  late?: boolean;
  alone?: boolean;
};

/** Returns the expiry (ISO 8601) of links in a request made now. */
export const linkExpiry = ({ clock, settings }: Pick<Dependencies, "clock" | "settings">): string =>
  new Date(clock.now().getTime() + settings.approvalLinkHours * 3_600_000).toISOString();

/**
 * Asks the approvers about a pending draft through one of the identity's channels. The request and its tokens are recorded before anything
 * is sent; a second try uses new tokens. `late`: the event is too old to be sent as news, so nothing is sent and the approvers are recorded
 * as not reached. `alone`: the request is not bundled with others. A request that lacks notification quota is recorded as failed if the
 * secondary channel can be asked instead. Throws StreamMoved if the identity changes before the request is recorded; the caller then asks
 * again.
 */
export async function askApprovers(
  deps: Dependencies,
  { channels, draftId, draft, slot, lastTry, late = false, alone = false }: ApproversQuestion,
  cause: Cause,
): Promise<AskResult> {
  const { state: identity, revision } = await deps.identities.load(draft.identityId);
  const channel = channelOf(identity, slot);
  if (!channel || identity.deleted) return finished;
  // With this guard, every request that follows an identity's change of channel in the log was made through the new channel (isAsked).
  const unlessMoved = [{ stream: identityStream(draft.identityId), revision }];
  const opened = openedChannel(deps, { workspaceId: draft.workspaceId, slot }, channel);
  const notificationId = deps.ids.uuid();
  const bundled =
    !late && !alone && (await isBundled(deps, channels[channel.type], { draftId, draft, identity, channel, slot }));
  const unsent = late ? tooLate : await whyUnasked(deps, opened);
  const measured = { channel: opened, workspaceId: draft.workspaceId, attemptId: notificationId };
  const room = bundled || unsent ? undefined : await channels[channel.type].takeRoom?.(measured);
  const full = room && "reached" in room ? room : undefined;
  // A request that waits for quota is not recorded, so that a long wait costs one timer instead of many events.
  if (full?.inMs !== undefined && !isUnreachedForGood(full, { draft, identity, slot, lastTry }))
    return { again: true, inMs: full.inMs };
  const tokens = { approve: newToken(deps), reject: newToken(deps) };
  const code = identity.confirmCode && hasLinkPages(channel) ? newConfirmCode(deps) : null;
  const expiresAt = linkExpiry(deps);
  const asked: ApprovalRequest = {
    notificationId,
    causedBy: cause.causationId,
    version: draft.version,
    contentSha256: draft.contentSha256,
    channel: { slot, type: channel.type, address: addressOf(opened) },
    tokens: bundled
      ? []
      : (["approve", "reject"] as const).map((decision) => ({ sha256: hashToken(tokens[decision]), decision })),
    expiresAt,
    ...(code !== null && { confirmCode: confirmCodeMac(deps, notificationId, code) }),
    ...(bundled && { bundled }),
  };
  const recorded = await deps.drafts.handle(draftId, { type: "AskApprovers", asked }, { ...cause, unlessMoved });
  // Not changed: the draft was decided or edited meanwhile, so this version needs no request. Bundled: src/processes/askInBundles.ts sends
  // the mail.
  if (!recorded.changed && room && "giveBack" in room) await room.giveBack();
  if (!recorded.changed || bundled) return finished;
  const delivered = { draftId, draft, channel: opened, tokens, code, expiresAt, notificationId };
  const answer = unsent ?? full ?? (await ask(deps, channels, delivered));
  if (answer.reached) {
    const { message, movedTo } = answer;
    const from = channel.config.chat_id;
    if (movedTo !== undefined && from !== undefined) {
      await moveChat(deps, { identityId: draft.identityId, from, to: movedTo }, cause);
    }
    await deps.drafts.handle(draftId, { type: "RecordNotified", notificationId, message }, cause);
    return finished;
  }
  const { inMs } = answer;
  const final = isUnreachedForGood(answer, { draft, identity, slot, lastTry });
  const failed = { type: "RecordNotificationFailed", notificationId, error: answer.error, final } as const;
  await deps.drafts.handle(draftId, { ...failed, waits: inMs !== undefined }, cause);
  return final ? finished : { again: true, ...(inMs !== undefined && { inMs }) };
}

/**
 * Returns true if this channel is not tried again. That includes a channel that lacks notification quota while the secondary channel can be
 * asked about this version instead.
 */
export function isUnreachedForGood(
  { again, inMs }: Extract<ChannelAnswer, { reached: false }>,
  { draft, identity, slot, lastTry }: Pick<ApproversQuestion, "draft" | "slot" | "lastTry"> & { identity: Identity },
): boolean {
  const canEscalate = identity.secondaryApprovalChannel !== null && draft.escalatedVersion < draft.version;
  const goesElsewhere = inMs !== undefined && slot === "primary" && canEscalate;
  return !again || goesElsewhere || (lastTry && inMs === undefined);
}

/**
 * Result of asking. `again`: no approver was reached, and a later try may help; `inMs`: milliseconds to
 * wait if only notification quota is missing.
 */
export type AskResult = { again: false } | { again: true; inMs?: number };

const finished: AskResult = { again: false };

const tooLate: ChannelAnswer = {
  reached: false,
  again: false,
  error: "the approvers were not notified within 24 hours: notify them again with POST /v1/drafts/{id}/notify",
};

/** Returns true for mail. In a chat, buttons decide without a page, so there is no field for a confirmation code. */
const hasLinkPages = ({ type }: ApprovalChannel): boolean => type === "email";

const newToken = (deps: Dependencies): string => deps.ids.random(tokenBytes).toString("base64url");

type RequestToSend = {
  draftId: string;
  draft: Draft;
  channel: ApprovalChannel;
  tokens: Record<Decision, string>;
  code: string | null;
  expiresAt: string;
  notificationId: string;
};

/** Returns why the channel cannot be used. Its address may belong to a domain that was added to this service after the channel was set. */
async function whyUnasked(deps: Dependencies, { type, config }: ApprovalChannel): Promise<ChannelAnswer | undefined> {
  if (type !== "email" || !(await isHostedHere(deps, config.to as string))) return undefined;
  return {
    reached: false,
    again: false,
    error: "the approver's address is now hosted by this service, so it cannot approve: set another address",
  };
}

async function ask(
  deps: Dependencies,
  channels: Channels,
  { draftId, draft, channel, tokens, code, expiresAt, notificationId }: RequestToSend,
): Promise<ChannelAnswer> {
  const link = (decision: Decision) => `${deps.settings.publicUrl}/a/${tokens[decision]}?d=${decision}`;
  const { workspaceId, identityId, threadId } = draft;
  const view = await approvalView(deps, { draftId, draft, version: draft.version, expiresAt });
  // The Message-ID contains this origin, so that a bounce of the mail leads to the request.
  const origin = { identityId, threadId, attemptId: notificationId };
  return channels[channel.type].ask({
    channel,
    view: await withCard(deps, workspaceId, view),
    tokens,
    links: { approve: link("approve"), reject: link("reject") },
    confirmCode: code,
    workspaceId,
    origin,
  });
}
