import { createHash } from "node:crypto";
import type { ApprovalRequest } from "#streams/draft/events.ts";
import { followedChat, type Identity } from "#streams/identity/decider.ts";
import type { ApprovalChannel } from "#streams/identity/events.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { openedChannel } from "./approvalChannels.ts";

/**
 * Returns a comparable address of a channel: a mailbox, a bot and its chat, or the hash of a webhook. It is stored and shown in histories,
 * so it contains no secret. `channel`: with secrets decrypted.
 */
export function addressOf({ type, config }: ApprovalChannel): string {
  switch (type) {
    case "email":
      return config.to as string;
    case "telegram":
      // A bot keeps its id, the beginning of its token, when its token is replaced.
      return `${(config.bot_token ?? "").split(":", 1)[0]}:${config.chat_id}`;
    case "slack":
      return createHash("sha256")
        .update(JSON.stringify([config.webhook_url, config.channel ?? null]))
        .digest("hex");
  }
}

/**
 * True if a request's channel is still the identity's. A link or button is bound to its channel: it expires when another approver takes
 * over. A chat whose id was changed by its provider is the same chat.
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
