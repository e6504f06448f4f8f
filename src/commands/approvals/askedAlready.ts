import type { Draft } from "#streams/draft/draft.ts";
import type { ApprovalRequest } from "#streams/draft/events.ts";
import { deciding } from "#streams/draft/notification.ts";
import type { Identity } from "#streams/identity/decider.ts";
import type { Dependencies } from "../dependencies.ts";
import { draftEvents } from "../drafts/draftHistories.ts";
import { type ChannelSlot, channelOf } from "./askApprovers.ts";
import { reaches } from "./channelAddresses.ts";

/** "before": no matter what asked them. `namedAt`: the position of the log at which the channel was named. */
export type UnlessAsked = "before" | { namedAt: number };

type Question = { draft: Draft; identity: Identity; slot: ChannelSlot };

/** The questions about the draft's present version that are with the approvers of the identity's channel, and whose links decide. */
export const standing = (deps: Pick<Dependencies, "keyRing" | "clock">, { draft, identity, slot }: Question): ApprovalRequest[] =>
  deciding(draft, slot).filter(
    ({ channel, expiresAt }) => reaches(deps, identity, channel) && Date.parse(expiresAt) > deps.clock.now().getTime(),
  );

/**
 * Whether the approvers of the identity's channel have the draft's present version, and their links decide. A chat that was named again is to be asked
 * all the same, as its buttons may not work, unless it was asked after it was named, whatever the question came from.
 */
export async function isAsked(
  deps: Dependencies,
  { draftId, ...question }: Question & { draftId: string },
  unless: UnlessAsked,
): Promise<boolean> {
  const { identity, slot } = question;
  const asked = standing(deps, question);
  if (asked.length === 0 || unless === "before" || channelOf(identity, slot)?.type === "email") return asked.length > 0;
  const ids = asked.map(({ notificationId }) => notificationId);
  const events = await draftEvents(deps, draftId);
  return events.some(
    ({ type, data, position }) =>
      type === "ApproversAsked" && ids.includes(data.notificationId) && position > unless.namedAt,
  );
}
