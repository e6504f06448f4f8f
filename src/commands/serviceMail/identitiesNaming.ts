import { activeIdentities } from "#projections/identities/queries.ts";
import { mailboxOf } from "#src/mail/out/quota/notificationQuota.ts";
import type { Identity } from "#streams/identity/decider.ts";
import { type ChannelSlot, channelOf } from "../approvals/askApprovers.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Unsubscribable } from "./unsubscribeTokens.ts";

/**
 * An identity that has a mailbox as an approver. `slots`: its channels with that mailbox. `others`: addresses of its other mail channels.
 */
export type ApproverNaming = { identityId: string; slots: ChannelSlot[]; others: string[] };

/** Returns the workspace's identities with this mailbox, in any spelling, as an approver. */
export async function identitiesNaming(
  deps: Dependencies,
  { workspaceId, address }: Unsubscribable,
): Promise<ApproverNaming[]> {
  const found: ApproverNaming[] = [];
  for (const { id: identityId } of await activeIdentities(deps.reads, workspaceId)) {
    const { state } = await deps.identities.load(identityId);
    const isIt = (slot: ChannelSlot): boolean => mailboxIn(state, slot) === mailboxOf(address);
    const slots = bothSlots.filter(isIt);
    const others = bothSlots.filter((slot) => !isIt(slot)).flatMap((slot) => addressIn(state, slot) ?? []);
    if (slots.length > 0) found.push({ identityId, slots, others });
  }
  return found;
}

const bothSlots: readonly ChannelSlot[] = ["primary", "secondary"];

function addressIn(identity: Identity, slot: ChannelSlot): string | undefined {
  const channel = channelOf(identity, slot);
  return channel?.type === "email" ? (channel.config.to as string) : undefined;
}

function mailboxIn(identity: Identity, slot: ChannelSlot): string | undefined {
  const address = addressIn(identity, slot);
  return address === undefined ? undefined : mailboxOf(address);
}
