import type { ChannelAnswer, Channels } from "#src/channels/channel.ts";
import type { ApprovalChannel } from "#streams/identity/events.ts";
import { addressOf } from "../approvals/channelAddresses.ts";
import type { Dependencies } from "../dependencies.ts";
import { type NoticeKind, returnNoticeQuota, takeNoticeQuota, whyNoticeWithheld } from "./noticeQuota.ts";
import type { NoticeOutcome } from "./sendNotice.ts";

/** A short text for a chat. `kind`: its purpose. `channel`: with decrypted secrets. `lines`: plain text, not escaped. */
export type ChatNotice = {
  kind: Extract<NoticeKind, "rule" | "test" | "outcome">;
  workspaceId: string;
  attemptId: string;
  channel: ApprovalChannel;
  lines: readonly string[];
};

/**
 * Posts a rule's notice, a reminder or a test to a chat. The quota and the pauses of notification mail apply; the chat counts like an address. Throws
 * PausedByOperator while all sending is paused.
 */
export async function postNotice(
  deps: Dependencies,
  channels: Channels,
  { kind, workspaceId, attemptId, channel, lines }: ChatNotice,
): Promise<NoticeOutcome> {
  // The counted address includes the bot or webhook, so that another workspace's bot cannot use up a chat's quota by naming the chat.
  const leaving = { kind, workspaceId, to: { chat: `${channel.type} ${addressOf(channel)}` } };
  const notNow = await whyNoticeWithheld(deps, leaving);
  if (notNow) return notNow;
  const place = await takeNoticeQuota(deps, { ...leaving, attemptId }).catch((error: Error) => failed(error.message));
  if (place && "sent" in place) return place;
  const answer = await tell(channels, channel, lines);
  if (answer.reached) return { sent: true };
  // If the post may be tried again, it may have arrived nevertheless, so its quota is not given back.
  if (!answer.again && place?.isNew) await returnNoticeQuota(deps, attemptId);
  return { sent: false, error: answer.error, again: answer.again };
}

const failed = (error: string): NoticeOutcome & { sent: false } => ({ sent: false, error, again: true });

async function tell(channels: Channels, channel: ApprovalChannel, lines: readonly string[]): Promise<ChannelAnswer> {
  const answer = await channels[channel.type].tell?.({ channel, lines });
  return answer ?? { reached: false, again: false, error: `notices cannot be posted in a ${channel.type} channel` };
}
