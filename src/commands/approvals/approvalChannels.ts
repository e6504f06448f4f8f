import { identityByAddress } from "#projections/identities/queries.ts";
import { allowedUsersOf } from "#src/channels/allowedUsers.ts";
import { isChannelName } from "#src/channels/slack/channelName.ts";
import { isSlackUrl } from "#src/channels/slack/slackHosts.ts";
import { isBotToken } from "#src/channels/telegram/botToken.ts";
import { isChatId } from "#src/channels/telegram/chatId.ts";
import { domainOfAddress } from "#src/platform/dns/names.ts";
import { CannotOpen, type Reseal } from "#src/platform/secrets/keyRing.ts";
import { isMaskOf, mask } from "#src/platform/secrets/mask.ts";
import { invalidRequest } from "#streams/decider.ts";
import { withoutTag } from "#streams/emailAddress/untagged.ts";
import type { ApprovalChannel, IdentitySettings } from "#streams/identity/events.ts";
import type { Dependencies } from "../dependencies.ts";
import { receivesMailHere } from "../domains/domainNames.ts";

/** Fields of a channel's config that are secret: encrypted at rest, masked on the wire. */
export const secretFields = ["bot_token", "webhook_url", "signing_secret"];

/** Wire names of an identity's channels. */
export const wireNames = {
  approvalChannel: "approval_channel",
  secondaryApprovalChannel: "secondary_approval_channel",
} as const;
type ChannelSetting = keyof typeof wireNames;
const slots = Object.keys(wireNames) as ChannelSetting[];
type ChannelSettings = Partial<Pick<IdentitySettings, ChannelSetting>>;
type SecretOwner = { workspaceId: string; slot: ChannelSetting };

/**
 * Encrypts the secrets of the given channels. A masked value sent back keeps the stored secret. Throws Rejected invalid_request for a mask
 * that matches no stored secret, a webhook_url that is not Slack's, a malformed Telegram bot token, and what names no chat.
 */
export function sealChannels(
  deps: Dependencies,
  { workspaceId, given, stored }: { workspaceId: string; given: ChannelSettings; stored: ChannelSettings | null },
): ChannelSettings {
  const sealed: ChannelSettings = {};
  for (const slot of slots) {
    const channel = given[slot];
    if (channel === undefined) continue;
    const before = stored?.[slot] ?? null;
    if (channel) requireProvenUsers(deps, `${wireNames[slot]}.config`, channel);
    if (channel) requireChat(`${wireNames[slot]}.config`, channel);
    sealed[slot] = channel === null ? null : seal(deps, { workspaceId, slot }, { channel, stored: before });
  }
  return sealed;
}

/**
 * Requires what Slack needs to prove who pressed a button and to ask for a text, if only some users may decide. Throws Rejected
 * invalid_request.
 */
function requireProvenUsers({ settings }: Dependencies, path: string, { type, config }: ApprovalChannel): void {
  if (type !== "slack" || allowedUsersOf(config) === null) return;
  if (!config.bot_token)
    throw invalidRequest(`${path}.allowed_users`, "needs a bot_token, because these users decide by buttons and forms");
  if (config.signing_secret || settings.slackPressesProven) return;
  throw invalidRequest(
    `${path}.allowed_users`,
    "needs a signing_secret, because without one nothing proves who pressed a button",
  );
}

function seal(
  deps: Dependencies,
  { workspaceId, slot }: SecretOwner,
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
    throw invalidRequest(path, "this masked value does not match the stored one: send the full value");
  }
  if (!path.endsWith("webhook_url")) return;
  const { slackAllowedHosts = ["hooks.slack.com"], webhookAllowedHosts = [] } = deps.settings;
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (!url || !isSlackUrl(url, { slackAllowedHosts, webhookAllowedHosts })) {
    throw invalidRequest(path, `expected an https:// URL on ${slackAllowedHosts.join(" or ")}`);
  }
}

/** Validates a bot token, which becomes part of the URL of every call to Telegram. */
export function requireBotToken(path: string, value: string): void {
  if (isBotToken(value)) return;
  throw invalidRequest(
    path,
    "expected the token that @BotFather gave you: digits, a colon, and 30 or more letters, digits, _ and -",
  );
}

/**
 * Validates the name or number of the chat in which a channel posts: every message to another text would be refused. Without a bot token a
 * Slack channel's name is only a label.
 */
export function requireChat(path: string, { type, config: { chat_id, channel, bot_token } }: ApprovalChannel): void {
  if (type === "telegram" && chat_id !== undefined && !isChatId(chat_id))
    throw invalidRequest(
      `${path}.chat_id`,
      "expected the chat's number, which begins with a minus for a group (-1001234567890), or the @name of a public group or channel; links, blanks and the numbers of topics do not belong here",
    );
  if (type === "slack" && bot_token !== undefined && channel !== undefined && !isChannelName(channel))
    throw invalidRequest(
      `${path}.channel`,
      "expected the channel's id (C0123456789), or a public channel's name; links, blanks and the names of people do not belong here",
    );
}

/** Returns the channels with each encrypted secret replaced by the result of `again`. */
export function resealedChannels(
  { workspaceId, ...channels }: Pick<IdentitySettings, ChannelSetting> & { workspaceId: string },
  again: Reseal,
): ChannelSettings {
  const resealed = (slot: ChannelSetting, channel: ApprovalChannel): ApprovalChannel =>
    withSecrets(channel, (value, field) => again(value, { workspaceId, field: `${slot}.${field}` }));
  return Object.fromEntries(
    slots.map((slot) => [slot, channels[slot] === null ? null : resealed(slot, channels[slot])]),
  );
}

/**
 * Decrypts a secret. Returns "" if the secret's key is gone from the key ring, so that the channel can be shown and its secret replaced.
 */
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

/** Returns a channel with its secrets decrypted, for use by its provider only. */
export function openedChannel(
  deps: Pick<Dependencies, "keyRing">,
  { workspaceId, slot }: { workspaceId: string; slot: "primary" | "secondary" },
  channel: ApprovalChannel,
): ApprovalChannel {
  const stored = slot === "primary" ? "approvalChannel" : "secondaryApprovalChannel";
  return withSecrets(channel, (value, field) => open(deps, value, { workspaceId, field: `${stored}.${field}` }));
}

/** Returns a channel as shown on the wire: secrets as **** and their last 4 characters. */
export function maskedChannel(
  deps: Pick<Dependencies, "keyRing">,
  { workspaceId, slot }: SecretOwner,
  channel: ApprovalChannel | null,
): ApprovalChannel | null {
  if (channel === null) return null;
  return withSecrets(channel, (value, field) => mask(open(deps, value, { workspaceId, field: `${slot}.${field}` })));
}

/** Replaces the value of each secret in a channel. */
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

/**
 * Returns true if the address belongs to the sandbox domain, a verified domain or an identity, or is the sender address of approval mail.
 * An agent may read mail that arrives at such an address.
 */
export async function isHostedHere(deps: Dependencies, address: string): Promise<boolean> {
  const folded = address.toLowerCase();
  const { sandboxDomain } = deps.settings;
  if (sandboxDomain !== null && folded.endsWith(`@${sandboxDomain.toLowerCase()}`)) return true;
  if (await receivesMailHere(deps, domainOfAddress(folded))) return true;
  if (folded === deps.settings.approvalsFrom.toLowerCase()) return true;
  return (await ownerOfAddress(deps, folded)) !== undefined;
}

/** Returns the workspace whose identity receives mail for an address, with or without a +tag; undefined if no identity does. */
export async function ownerOfAddress(
  { reads }: Pick<Dependencies, "reads">,
  address: string,
): Promise<string | undefined> {
  const folded = address.toLowerCase();
  const found = await identityByAddress(reads, [folded, withoutTag(folded)]);
  return (found.find(({ email_address }) => email_address === folded) ?? found[0])?.workspace_id;
}
