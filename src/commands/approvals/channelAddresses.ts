import { createHash } from "node:crypto";
import type { ApprovalRequest } from "#streams/draft/events.ts";
import { followedChat, type Identity } from "#streams/identity/decider.ts";
import type { ApprovalChannel } from "#streams/identity/events.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { openedChannel } from "./approvalChannels.ts";

/**
 * Whom a channel reaches, for comparing alone: a mailbox, a bot and its chat, or a webhook by its hash. It is stored and shown in histories, so it
 * holds no secret. `channel`: its secrets opened.
 */
export function addressOf({ type, config }: ApprovalChannel): string {
  switch (type) {
    case "email":
      return config.to as string;
    case "telegram":
      // A bot keeps its id, which its token begins with, when it is given another token.
      return `${(config.bot_token ?? "").split(":", 1)[0]}:${config.chat_id}`;
    case "slack":
      return createHash("sha256")
        .update(JSON.stringify([config.webhook_url, config.channel ?? null]))
        .digest("hex");
  }
}

/**
 * A link or button is bound to its channel: if another approver has taken over, those given to the old one have run out. A chat that its provider
 * gave another id is the same chat.
 */
export function reaches(
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
 * A chat has another id, says its provider (Telegram: a group that became a supergroup). The identity's channels name it so from now on, and the
 * buttons that are in it keep working. Changes nothing where no channel of the identity names the old id.
 */
export async function moveChat(
  deps: Pick<Dependencies, "identities">,
  { identityId, from, to }: { identityId: string; from: string; to: string },
  cause: Cause,
): Promise<void> {
  await deps.identities.handle(identityId, { type: "MoveChat", from, to }, cause);
}
