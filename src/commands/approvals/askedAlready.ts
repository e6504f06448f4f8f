import type { Draft } from "#streams/draft/draft.ts";
import { deciding } from "#streams/draft/notification.ts";
import type { Identity } from "#streams/identity/decider.ts";
import type { Dependencies } from "../dependencies.ts";
import { draftEvents } from "../drafts/draftHistories.ts";
import { type ChannelSlot, channelOf } from "./askApprovers.ts";
import { isSame } from "./channelAddresses.ts";

/** "before": no matter what asked them. `namedAt`: the position of the log at which the channel was named. */
export type UnlessAsked = "before" | { namedAt: number };

/**
 * Whether the approvers of the identity's channel have the draft's present version, and their links decide. A chat that was named again is to be asked
 * all the same, as its buttons may not work, unless what asked there came after it was named.
 */
export async function isAsked(
  deps: Dependencies,
  { draftId, draft, identity, slot }: { draftId: string; draft: Draft; identity: Identity; slot: ChannelSlot },
  unless: UnlessAsked,
): Promise<boolean> {
  const asked = deciding(draft, slot).filter(({ channel }) => isSame(deps, identity, channel));
  if (asked.length === 0 || unless === "before" || channelOf(identity, slot)?.type === "email") return asked.length > 0;
  const causes = asked.map(({ causedBy }) => causedBy);
  const events = await draftEvents(deps, draftId);
  return events.some(({ id, position }) => causes.includes(id) && position > unless.namedAt);
}
