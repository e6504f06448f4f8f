import type { ChatPerson } from "#src/channels/approvalDecisions.ts";
import { allowedUsersOf } from "#src/channels/telegram/allowedUsers.ts";
import { botIdOf } from "#src/channels/telegram/botToken.ts";
import type { UpdateChat } from "#src/channels/telegram/updates.ts";
import type { ChatQuestion } from "../chatQuestions.ts";

/** Origin of a press or a reply. `messageId`: the request's own message, if known. */
type PressOrigin = { botId: string; chat: UpdateChat; messageId?: string; by: ChatPerson };

/**
 * Returns why a press does not count, as a sentence for the person; undefined if it counts. The token alone is not enough: the press must
 * come through the bot, chat and message of the request, from an allowed user.
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

/** True if the chat is the request's. Its channel still is the one asked through, so the chat may have its name of then or of now. */
function isChat({ channel, asked, message }: ChatQuestion, { id, username }: UpdateChat): boolean {
  const named = channel?.config.chat_id ?? "";
  const before = asked.channel.address.split(":").slice(1).join(":");
  if (named.startsWith("@") && username !== null && named.toLowerCase() === `@${username.toLowerCase()}`) return true;
  return [named, before, message?.chat].includes(id);
}

/**
 * True if the message is the request's. A chat with a new id may number its messages from 1 again, and the message is unknown if sending
 * had no answer: then bot, chat and token suffice.
 */
function isMessage({ message }: ChatQuestion, { id }: UpdateChat, messageId: string): boolean {
  return message === null || message.chat !== id || message.ids.includes(messageId);
}
