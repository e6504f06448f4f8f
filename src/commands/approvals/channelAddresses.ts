import { createHash } from "node:crypto";
import type { ApprovalRequest } from "#streams/draft/events.ts";
import { followedChat, type Identity } from "#streams/identity/decider.ts";
import type { ApprovalChannel } from "#streams/identity/events.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { openedChannel } from "./approvalChannels.ts";

/**
 * Returns the address of a channel in a form that can be compared: a mailbox, a bot id with its chat id, or the hash of a webhook URL. The
 * address is stored and shown in histories, so it contains no secret. `channel`: with decrypted secrets.
 */
export function addressOf({ type, config }: ApprovalChannel): string {
  switch (type) {
    case "email":
      return config.to as string;
    case "telegram":
      // The bot's id is the beginning of its token, and stays the same when the token is replaced.
      return `${(config.bot_token ?? "").split(":", 1)[0]}:${config.chat_id}`;
    case "slack":
      return createHash("sha256")
        .update(JSON.stringify([config.webhook_url, config.channel ?? null]))
        .digest("hex");
  }
}

/**
 * Returns true if the identity still uses the request's channel. Links and buttons of a request expire when the identity gets another
 * channel, because that channel's approver has taken over. A chat whose id was changed by its provider counts as the same chat.
 */
export function isStillChannelOf(
  deps: Pick<Dependencies, "keyRing">,
  identity: Identity,
  { slot, type, address }: ApprovalRequest["channel"],
): boolean {
  const channel = slot === "primary" ? identity.approvalChannel : identity.secondaryApprovalChannel;
  if (channel?.type !== type) return false;
  const now = addressOf(openedChannel(deps, { workspaceId: identity.workspaceId, slot }, channel));
  return now === address || (type === "telegram" && now === afterMoves(identity, address));
}

function afterMoves(identity: Identity, address: string): string {
  const [bot, chat] = [address.slice(0, address.indexOf(":")), address.slice(address.indexOf(":") + 1)];
  return `${bot}:${followedChat(identity, chat)}`;
}

/**
 * Records a chat's new id reported by its provider (Telegram: a group that became a supergroup). The identity's channels use it from now
 * on, and buttons already in the chat keep working. Changes nothing if no channel of the identity has the old id.
 */
export async function moveChat(
  deps: Pick<Dependencies, "identities">,
  { identityId, from, to }: { identityId: string; from: string; to: string },
  cause: Cause,
): Promise<void> {
  await deps.identities.handle(identityId, { type: "MoveChat", from, to }, cause);
}
