import type { Reseal } from "#src/platform/secrets/keyRing.ts";
import { mask } from "#src/platform/secrets/mask.ts";
import { Rejected } from "#streams/decider.ts";
import type { ApprovalChannel } from "#streams/identity/events.ts";
import type { RuleAction } from "#streams/rule/events.ts";
import {
  isHostedHere,
  open,
  requireBotToken,
  requireChat,
  requireSecret,
  secretFields,
} from "../approvals/approvalChannels.ts";
import type { Dependencies } from "../dependencies.ts";

type NotifyAction = Extract<RuleAction, { type: "notify_channel" }>;
type Keys = Pick<Dependencies, "keyRing">;

const ownerOf = (workspaceId: string, field: string) => ({ workspaceId, field: `rule.${field}` });

/**
 * Encrypts the secrets of actions. A masked value sent back keeps the stored secret of that channel. Throws Rejected invalid_request for a
 * mask that matches no stored secret, a webhook_url that is not Slack's, a malformed Telegram bot token, and what names no chat.
 */
export function sealActions(
  deps: Dependencies,
  { workspaceId, path }: { workspaceId: string; path: string },
  { given, stored }: { given: readonly RuleAction[]; stored: readonly RuleAction[] },
): RuleAction[] {
  return given.map((action, index) => {
    if (action.type !== "notify_channel") return action;
    const place = { workspaceId, path: `${path}[${index}].config` };
    return { ...action, config: sealConfig(deps, place, { given: action, stored }) };
  });
}

function sealConfig(
  deps: Dependencies,
  { workspaceId, path }: { workspaceId: string; path: string },
  { given, stored }: { given: NotifyAction; stored: readonly RuleAction[] },
): Record<string, string> {
  const { channel, config } = given;
  requireChat(path, { type: channel, config });
  const seal = ([field, value]: [string, string]): [string, string] => {
    if (!secretFields.includes(field)) return [field, value];
    const owner = ownerOf(workspaceId, field);
    const kept = sealedBefore(stored, channel, field).find((sealed) => {
      const plain = open(deps, sealed, owner);
      return plain !== "" && (value === plain || value === mask(plain));
    });
    if (kept !== undefined) return [field, kept];
    requireSecret(deps, `${path}.${field}`, value);
    if (channel === "telegram") requireBotToken(`${path}.${field}`, value);
    return [field, deps.keyRing.seal(value, owner)];
  };
  return Object.fromEntries(Object.entries(config).map(seal));
}

const sealedBefore = (stored: readonly RuleAction[], channel: string, field: string): string[] =>
  stored.flatMap((action) =>
    action.type === "notify_channel" && action.channel === channel && action.config[field] !== undefined
      ? [action.config[field]]
      : [],
  );

/** Returns the actions with each encrypted secret replaced by the result of `again`. */
export const resealedActions = (
  { workspaceId, actions }: { workspaceId: string; actions: readonly RuleAction[] },
  again: Reseal,
): RuleAction[] =>
  actions.map((action) => {
    if (action.type !== "notify_channel") return action;
    const config = Object.entries(action.config).map(([field, value]) =>
      secretFields.includes(field) ? [field, again(value, ownerOf(workspaceId, field))] : [field, value],
    );
    return { ...action, config: Object.fromEntries(config) };
  });

/**
 * Returns the channel of an action with its secrets decrypted, for use by its provider only. A secret is
 * "" if its key is gone from the key ring.
 */
export function openedNotify(deps: Keys, workspaceId: string, { channel, config }: NotifyAction): ApprovalChannel {
  const opened = Object.entries(config).map(([field, value]) =>
    secretFields.includes(field) ? [field, open(deps, value, ownerOf(workspaceId, field))] : [field, value],
  );
  return { type: channel, config: Object.fromEntries(opened) };
}

/** Returns actions as shown on the wire: secrets as **** and their last 4 characters. */
export function maskedActions(deps: Keys, workspaceId: string, actions: readonly RuleAction[]): RuleAction[] {
  return actions.map((action) => {
    if (action.type !== "notify_channel") return action;
    const shown = Object.entries(action.config).map(([field, value]) =>
      secretFields.includes(field) ? [field, mask(open(deps, value, ownerOf(workspaceId, field)))] : [field, value],
    );
    return { ...action, config: Object.fromEntries(shown) };
  });
}

/** Throws Rejected invalid_request for a notification to an address that this service hosts, because an agent could read that mail. */
export async function requireOutsideAddress(
  deps: Dependencies,
  path: string,
  actions: readonly RuleAction[],
): Promise<void> {
  for (const [index, action] of actions.entries()) {
    if (action.type !== "notify_channel" || action.channel !== "email") continue;
    if (!(await isHostedHere(deps, action.config.to as string))) continue;
    const field = `${path}[${index}].config.to`;
    throw new Rejected(
      "invalid_request",
      `${field}: this address is hosted by this service: use a person's mailbox elsewhere`,
      {
        field,
      },
    );
  }
}
