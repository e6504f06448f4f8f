import type { ChannelAnswer, Channels } from "#src/channels/channel.ts";
import type { ApprovalChannel } from "#streams/identity/events.ts";
import { addressOf } from "../approvals/channelAddresses.ts";
import type { Dependencies } from "../dependencies.ts";
import type { NoticeOutcome } from "./sendNotice.ts";
import { giveBack, type NoticeKind, takePlace, whyNotNow } from "./withheld.ts";

/** A short text for a chat. `kind`: what it is for. `channel`: its secrets opened. `lines`: visible, not escaped. */
export type Post = {
  kind: Extract<NoticeKind, "rule" | "test">;
  workspaceId: string;
  attemptId: string;
  channel: ApprovalChannel;
  lines: readonly string[];
};

/**
 * Posts what a rule tells people in a chat, or a test, by the limits and the pauses of such mail: a chat counts as an address does. Throws
 * PausedByOperator while nothing may leave at all.
 */
export async function postNotice(
  deps: Dependencies,
  channels: Channels,
  { kind, workspaceId, attemptId, channel, lines }: Post,
): Promise<NoticeOutcome> {
  // The address names the bot or the webhook too: nobody uses up the places of a chat by naming it with a bot of their own.
  const leaving = { kind, workspaceId, to: { chat: `${channel.type} ${addressOf(channel)}` } };
  const notNow = await whyNotNow(deps, leaving);
  if (notNow) return notNow;
  const place = await takePlace(deps, { ...leaving, attemptId }).catch((error: Error) => failed(error.message));
  if (place && "sent" in place) return place;
  const answer = await tell(channels, channel, lines);
  if (answer.reached) return { sent: true };
  // One that may be tried again may have come there all the same.
  if (!answer.again && place?.isNew) await giveBack(deps, attemptId);
  return { sent: false, error: answer.error, again: answer.again };
}

const failed = (error: string): NoticeOutcome & { sent: false } => ({ sent: false, error, again: true });

async function tell(channels: Channels, channel: ApprovalChannel, lines: readonly string[]): Promise<ChannelAnswer> {
  const answer = await channels[channel.type].tell?.({ channel, lines });
  return answer ?? { reached: false, again: false, error: `nothing can be posted in a ${channel.type} channel` };
}
