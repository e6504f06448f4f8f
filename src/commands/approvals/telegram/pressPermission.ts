import { allowedUsersOf } from "#src/channels/allowedUsers.ts";
import type { ChatPerson } from "#src/channels/approvalDecisions.ts";
import { botIdOf } from "#src/channels/telegram/botToken.ts";
import type { UpdateChat } from "#src/channels/telegram/updates.ts";
import type { ChatQuestion } from "../chatQuestions.ts";

/** Bot, chat and person of a button press or a reply. `messageId`: id of the message with the pressed button, if known. */
type PressOrigin = { botId: string; chat: UpdateChat; messageId?: string; by: ChatPerson };

/**
 * Returns why a button press does not count, as a sentence for the person; undefined if it counts. The token is not enough: the press must
 * come through the request's bot, chat and message, from an allowed user.
 */
export function whyPressRefused(
  question: ChatQuestion | undefined,
  { botId, chat, messageId, by }: PressOrigin,
): string | undefined {
  if (!question) return "This button does not exist any more.";
  const { channel } = question;
  if (!channel) return "This button no longer works: other approvers are asked now.";
  const { bot_token = "" } = channel.config;
  if (channel.type !== "telegram" || botIdOf(bot_token) !== botId || !isChat(question, chat))
    return "This button does not work in this chat.";
  if (messageId !== undefined && !isMessage(question, chat, messageId))
    return "This button does not work in this chat.";
  const allowed = allowedUsersOf(channel.config);
  return allowed === null || allowed.includes(by.id) ? undefined : "You may not decide about drafts in this chat.";
}

/**
 * Returns true if the chat is the request's chat. The chat's name or id may have changed since the request, so both the earlier and the
 * present one are accepted.
 */
function isChat({ channel, asked, message }: ChatQuestion, { id, username }: UpdateChat): boolean {
  const named = channel?.config.chat_id ?? "";
  const before = asked.channel.address.split(":").slice(1).join(":");
  if (named.startsWith("@") && username !== null && named.toLowerCase() === `@${username.toLowerCase()}`) return true;
  return [named, before, message?.chat].includes(id);
}

/**
 * Returns true if the message is the request's message. The message cannot be checked if its chat has a new id, because message numbers may
 * then start from 1 again, or if Telegram never reported the message's id. Bot, chat and token suffice in these cases.
 */
function isMessage({ message }: ChatQuestion, { id }: UpdateChat, messageId: string): boolean {
  return message === null || message.chat !== id || message.ids.includes(messageId);
}
