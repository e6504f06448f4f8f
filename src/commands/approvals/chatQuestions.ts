import type { Draft } from "#streams/draft/draft.ts";
import type { ChatMessage } from "#streams/draft/events.ts";
import type { FoundToken } from "#streams/draft/notification.ts";
import type { ApprovalChannel } from "#streams/identity/events.ts";
import type { Dependencies } from "../dependencies.ts";
import { openedChannel } from "./approvalChannels.ts";
import { resolveToken } from "./approvalTokens.ts";
import { channelOf } from "./askApprovers.ts";
import { isStillChannelOf } from "./channelAddresses.ts";

/** The approval request that a chat's button belongs to. */
export type ChatQuestion = {
  draftId: string;
  draft: Draft;
  asked: FoundToken;
  /**
   * Channel that the request was sent through, with its present settings and decrypted secrets; null if another approver has taken over.
   */
  channel: ApprovalChannel | null;
  /** Chat message that shows the request; null if the chat's provider never reported the message's id. */
  message: ChatMessage | null;
};

/**
 * Finds the request of a button's token, so that the caller can check that the button was pressed in the request's chat. Returns undefined
 * for an unknown token.
 */
export async function chatQuestion(deps: Dependencies, token: string): Promise<ChatQuestion | undefined> {
  const link = await resolveToken(deps, token);
  if (!link) return undefined;
  const { draftId, draft, asked } = link;
  const { state: identity } = await deps.identities.load(draft.identityId);
  const { slot } = asked.channel;
  const channel = isStillChannelOf(deps, identity, asked.channel) ? channelOf(identity, slot) : null;
  return {
    draftId,
    draft,
    asked,
    channel: channel && openedChannel(deps, { workspaceId: draft.workspaceId, slot }, channel),
    message: draft.notified.messages[asked.notificationId] ?? null,
  };
}
