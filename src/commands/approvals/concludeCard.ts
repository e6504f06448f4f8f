import type { ChannelAnswer, Channels } from "#src/channels/channel.ts";
import type { Draft } from "#streams/draft/draft.ts";
import type { Dependencies } from "../dependencies.ts";
import { loadThread } from "../threads/threads.ts";
import { openedChannel } from "./approvalChannels.ts";
import { channelOf } from "./askApprovers.ts";
import { isStillChannelOf } from "./channelAddresses.ts";

/**
 * Replaces the buttons of a request in a chat with a text about the outcome. Returns undefined if there is nothing to replace: the request
 * has no chat message, its channel cannot edit messages, or the identity no longer uses the chat, so that the chat's secrets are gone.
 */
export async function concludeCard(
  deps: Dependencies,
  channels: Channels,
  { draft, notificationId, sentence }: { draft: Draft; notificationId: string; sentence: string },
): Promise<ChannelAnswer | undefined> {
  const message = draft.notified.messages[notificationId];
  const asked = draft.notified.open[notificationId];
  if (message === undefined || asked === undefined) return undefined;
  const { state: identity } = await deps.identities.load(draft.identityId);
  const { slot, type } = asked.channel;
  const channel = channelOf(identity, slot);
  const conclude = channels[type as keyof Channels]?.conclude;
  if (conclude === undefined || channel === null || !isStillChannelOf(deps, identity, asked.channel)) return undefined;
  const { workspaceId } = draft;
  const { state: thread } = await loadThread(deps, draft.threadId);
  const opened = openedChannel(deps, { workspaceId, slot }, channel);
  return conclude({ channel: opened, workspaceId, message, threadSubject: thread.subject, sentence });
}
