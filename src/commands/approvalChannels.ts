import { identityByAddress } from "#projections/identities/queries.ts";
import { isMaskOf, mask } from "#src/secrets/mask.ts";
import type { ApprovalChannel, IdentitySettings } from "#streams/identity/events.ts";
import type { Dependencies } from "./dependencies.ts";

/** The parts of a channel's config that are secrets: sealed at rest, masked on the wire (decisions 7). */
const secretFields = ["bot_token", "webhook_url", "signing_secret"];
const slots = ["approvalChannel", "secondaryApprovalChannel"] as const;
type Channels = Partial<Pick<IdentitySettings, (typeof slots)[number]>>;

/** Seals the secrets of the channels that are given. The shown, masked value sent back keeps the stored one. */
export function sealChannels(
  deps: Dependencies,
  workspaceId: string,
  given: Channels,
  stored: Channels | null,
): Channels {
  const sealed: Channels = {};
  for (const slot of slots) {
    const channel = given[slot];
    if (channel === undefined) continue;
    sealed[slot] = channel === null ? null : seal(deps, workspaceId, slot, channel, stored?.[slot] ?? null);
  }
  return sealed;
}

function seal(
  deps: Dependencies,
  workspaceId: string,
  slot: string,
  channel: ApprovalChannel,
  stored: ApprovalChannel | null,
): ApprovalChannel {
  const config = Object.entries(channel.config).map(([field, value]) => {
    if (!secretFields.includes(field)) return [field, value];
    const owner = { workspaceId, field: `${slot}.${field}` };
    const kept = stored?.type === channel.type ? stored.config[field] : undefined;
    if (kept !== undefined) {
      const plain = deps.keyRing.open(kept, owner);
      if (value === plain || isMaskOf(value, plain)) return [field, kept];
    }
    return [field, deps.keyRing.seal(value, owner)];
  });
  return { type: channel.type, config: Object.fromEntries(config) };
}

/** A channel as the wire shows it: secrets as **** and their last 4 characters. */
export function maskedChannel(
  deps: Pick<Dependencies, "keyRing">,
  workspaceId: string,
  slot: (typeof slots)[number],
  channel: ApprovalChannel | null,
): ApprovalChannel | null {
  if (channel === null) return null;
  const config = Object.entries(channel.config).map(([field, value]) => {
    if (!secretFields.includes(field)) return [field, value];
    return [field, mask(deps.keyRing.open(value, { workspaceId, field: `${slot}.${field}` }))];
  });
  return { type: channel.type, config: Object.fromEntries(config) };
}

/** True for an address of the sandbox domain or of any identity: an agent may read what arrives there. */
export async function isHostedHere(deps: Dependencies, address: string): Promise<boolean> {
  const folded = address.toLowerCase();
  const { sandboxDomain } = deps.settings;
  if (sandboxDomain !== null && folded.endsWith(`@${sandboxDomain.toLowerCase()}`)) return true;
  const untagged = folded.replace(/\+[^@]*(?=@)/, "");
  return (await identityByAddress(deps.reads, [folded, untagged])).length > 0;
}
