import { identityByAddress } from "#projections/identities/queries.ts";
import { isSlackUrl } from "#src/channels/slack/slackHosts.ts";
import { isBotToken } from "#src/channels/telegram/botToken.ts";
import { domainOfAddress } from "#src/platform/dns/names.ts";
import { CannotOpen, type Reseal } from "#src/platform/secrets/keyRing.ts";
import { isMaskOf, mask } from "#src/platform/secrets/mask.ts";
import { invalid } from "#streams/decider.ts";
import { withoutTag } from "#streams/emailAddress/untagged.ts";
import type { ApprovalChannel, IdentitySettings } from "#streams/identity/events.ts";
import type { Dependencies } from "../dependencies.ts";
import { receivesMailHere } from "../domains/domainNames.ts";

/** The parts of a channel's config that are secrets: sealed at rest, masked on the wire. */
export const secretFields = ["bot_token", "webhook_url", "signing_secret"];

/** An identity's channels, and what the wire calls them. */
export const wireNames = {
  approvalChannel: "approval_channel",
  secondaryApprovalChannel: "secondary_approval_channel",
} as const;
type Slot = keyof typeof wireNames;
const slots = Object.keys(wireNames) as Slot[];
type Channels = Partial<Pick<IdentitySettings, Slot>>;
type Owner = { workspaceId: string; slot: Slot };

/**
 * Seals the secrets of the channels that are given. The shown, masked value sent back keeps the stored one. Throws Rejected
 * invalid_request for a mask of nothing stored, for a webhook_url that is none of Slack's, and for what is no token of a Telegram bot.
 */
export function sealChannels(
  deps: Dependencies,
  { workspaceId, given, stored }: { workspaceId: string; given: Channels; stored: Channels | null },
): Channels {
  const sealed: Channels = {};
  for (const slot of slots) {
    const channel = given[slot];
    if (channel === undefined) continue;
    const before = stored?.[slot] ?? null;
    sealed[slot] = channel === null ? null : seal(deps, { workspaceId, slot }, { channel, stored: before });
  }
  return sealed;
}

function seal(
  deps: Dependencies,
  { workspaceId, slot }: Owner,
  { channel, stored }: { channel: ApprovalChannel; stored: ApprovalChannel | null },
): ApprovalChannel {
  const config = Object.entries(channel.config).map(([field, value]) => {
    if (!secretFields.includes(field)) return [field, value];
    const owner = { workspaceId, field: `${slot}.${field}` };
    const kept = stored?.type === channel.type ? stored.config[field] : undefined;
    if (kept !== undefined) {
      const plain = open(deps, kept, owner);
      if (value === plain || isMaskOf(value, plain)) return [field, kept];
    }
    requireSecret(deps, `${wireNames[slot]}.config.${field}`, value);
    if (channel.type === "telegram") requireBotToken(`${wireNames[slot]}.config.${field}`, value);
    return [field, deps.keyRing.seal(value, owner)];
  });
  return { type: channel.type, config: Object.fromEntries(config) };
}

export function requireSecret(deps: Dependencies, path: string, value: string): void {
  if (/^\*{4}.{0,4}$/.test(value)) {
    throw invalid(path, "this masked value does not match the stored one: send the full value");
  }
  if (!path.endsWith("webhook_url")) return;
  const { slackAllowedHosts = ["hooks.slack.com"], webhookAllowedHosts = [] } = deps.settings;
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (!url || !isSlackUrl(url, { slackAllowedHosts, webhookAllowedHosts })) {
    throw invalid(path, `expected an https:// URL on ${slackAllowedHosts.join(" or ")}`);
  }
}

/** It becomes a part of the address of every call to Telegram. */
export function requireBotToken(path: string, value: string): void {
  if (isBotToken(value)) return;
  throw invalid(
    path,
    "expected the token that @BotFather gave you: digits, a colon, and 30 or more letters, digits, _ and -",
  );
}

/** The channels with every secret of theirs as `again` seals it. */
export function resealedChannels(
  { workspaceId, ...channels }: Pick<IdentitySettings, Slot> & { workspaceId: string },
  again: Reseal,
): Channels {
  const resealed = (slot: Slot, channel: ApprovalChannel): ApprovalChannel =>
    withSecrets(channel, (value, field) => again(value, { workspaceId, field: `${slot}.${field}` }));
  return Object.fromEntries(
    slots.map((slot) => [slot, channels[slot] === null ? null : resealed(slot, channels[slot])]),
  );
}

/** A secret whose key is gone from the ring is shown as an empty one, and can be replaced. */
export function open(
  deps: Pick<Dependencies, "keyRing">,
  sealed: string,
  owner: { workspaceId: string; field: string },
): string {
  try {
    return deps.keyRing.open(sealed, owner);
  } catch (error) {
    if (error instanceof CannotOpen) return "";
    throw error;
  }
}

/** A channel with its secrets opened, for the provider behind it alone. */
export function openedChannel(
  deps: Pick<Dependencies, "keyRing">,
  { workspaceId, slot }: { workspaceId: string; slot: "primary" | "secondary" },
  channel: ApprovalChannel,
): ApprovalChannel {
  const stored = slot === "primary" ? "approvalChannel" : "secondaryApprovalChannel";
  return withSecrets(channel, (value, field) => open(deps, value, { workspaceId, field: `${stored}.${field}` }));
}

/** A channel as the wire shows it: secrets as **** and their last 4 characters. */
export function maskedChannel(
  deps: Pick<Dependencies, "keyRing">,
  { workspaceId, slot }: Owner,
  channel: ApprovalChannel | null,
): ApprovalChannel | null {
  if (channel === null) return null;
  return withSecrets(channel, (value, field) => mask(open(deps, value, { workspaceId, field: `${slot}.${field}` })));
}

/** The channel with another value in the place of each secret. */
const withSecrets = (
  { type, config }: ApprovalChannel,
  changed: (value: string, field: string) => string,
): ApprovalChannel => {
  const entries = Object.entries(config).map(([field, value]) => [
    field,
    secretFields.includes(field) ? changed(value, field) : value,
  ]);
  return { type, config: Object.fromEntries(entries) };
};

/** True for an address of the sandbox domain, of any verified one, of any identity or of the approval mail itself: an agent may read what arrives there. */
export async function isHostedHere(deps: Dependencies, address: string): Promise<boolean> {
  const folded = address.toLowerCase();
  const { sandboxDomain } = deps.settings;
  if (sandboxDomain !== null && folded.endsWith(`@${sandboxDomain.toLowerCase()}`)) return true;
  if (await receivesMailHere(deps, domainOfAddress(folded))) return true;
  if (folded === deps.settings.approvalsFrom.toLowerCase()) return true;
  return (await ownerOfAddress(deps, folded)) !== undefined;
}

/** The workspace whose identity gets mail to an address, with or without a tag; undefined if no identity does. */
export async function ownerOfAddress(
  { reads }: Pick<Dependencies, "reads">,
  address: string,
): Promise<string | undefined> {
  const folded = address.toLowerCase();
  const found = await identityByAddress(reads, [folded, withoutTag(folded)]);
  return (found.find(({ email_address }) => email_address === folded) ?? found[0])?.workspace_id;
}
