import type { Draft } from "#streams/draft/draft.ts";
import type { ApprovalRequest } from "#streams/draft/events.ts";
import { openNotifications } from "#streams/draft/notification.ts";
import type { Identity } from "#streams/identity/decider.ts";
import type { Dependencies } from "../dependencies.ts";
import { draftEvents } from "../drafts/draftHistories.ts";
import { type ChannelSlot, channelOf } from "./askApprovers.ts";
import { isStillChannelOf } from "./channelAddresses.ts";

/**
 * Condition under which approvers are not asked. "before": if they were already asked about this version. `namedAt`: if they were asked
 * after this log position, at which the channel was named.
 */
export type UnlessAsked = "before" | { namedAt: number };

type ChannelQuestion = { draft: Draft; identity: Identity; slot: ChannelSlot };

/** Returns the requests about the draft's present version that reached this channel's approvers and whose links can still decide. */
export const openRequestsOf = (
  deps: Pick<Dependencies, "keyRing" | "clock">,
  { draft, identity, slot }: ChannelQuestion,
): ApprovalRequest[] =>
  openNotifications(draft, slot).filter(
    ({ channel, expiresAt }) =>
      isStillChannelOf(deps, identity, channel) && Date.parse(expiresAt) > deps.clock.now().getTime(),
  );

/**
 * Returns true if the channel's approvers have a request about the present version whose links can still decide. Requests made after the
 * channel was named count even if they have expired (processes/expireRequests.ts). If an identity names a chat again, the chat's old
 * buttons may not work, so only those count.
 */
export async function hasOpenRequest(
  deps: Dependencies,
  { draftId, ...question }: ChannelQuestion & { draftId: string },
  unless: UnlessAsked,
): Promise<boolean> {
  const { draft, identity, slot } = question;
  const isOpen = openRequestsOf(deps, question).length > 0;
  if (unless === "before" || (isOpen && channelOf(identity, slot)?.type === "email")) return isOpen;
  const ids = openNotifications(draft, slot)
    .filter(({ channel }) => isStillChannelOf(deps, identity, channel))
    .map(({ notificationId }) => notificationId);
  const events = await draftEvents(deps, draftId);
  return events.some(
    ({ type, data, position }) =>
      type === "ApproversAsked" && ids.includes(data.notificationId) && position > unless.namedAt,
  );
}
