import type { ChatPerson } from "#src/channels/approvalDecisions.ts";
import { allowedUsersOf } from "#src/channels/telegram/allowedUsers.ts";
import { botIdOf } from "#src/channels/telegram/botToken.ts";
import type { UpdateChat } from "#src/channels/telegram/updates.ts";
import type { ChatQuestion } from "../chatQuestions.ts";

/** Where something was pressed or said, and by whom. `messageId`: the question's own message, if that is known. */
type Press = { botId: string; chat: UpdateChat; messageId?: string; by: ChatPerson };

/**
 * Why a press does not count, in a sentence for who pressed; undefined if it does. The token alone is not enough: the press has to come through the
 * bot, from the chat and under the message that the question was asked by, from a user who is allowed to.
 */
export function whyNot(question: ChatQuestion | undefined, { botId, chat, messageId, by }: Press): string | undefined {
  if (!question) return "This button is not known here.";
  const { channel } = question;
  if (!channel) return "This button does not count any more: somebody else is asked now.";
  const { bot_token = "" } = channel.config;
  if (channel.type !== "telegram" || botIdOf(bot_token) !== botId || !isChat(question, chat))
    return "This button does not count here.";
  if (messageId !== undefined && !isMessage(question, chat, messageId)) return "This button does not count here.";
  const allowed = allowedUsersOf(channel.config);
  return allowed === null || allowed.includes(by.id) ? undefined : "You are not among those who may decide here.";
}

/** The question's channel is still the one that it was asked through, so its chat may be named as it was then, and as it is now. */
function isChat({ channel, asked, message }: ChatQuestion, { id, username }: UpdateChat): boolean {
  const named = channel?.config.chat_id ?? "";
  const before = asked.channel.address.split(":").slice(1).join(":");
  if (named.startsWith("@") && username !== null && named.toLowerCase() === `@${username.toLowerCase()}`) return true;
  return [named, before, message?.chat].includes(id);
}

/**
 * A chat that got another id may number its messages from 1 again, and nobody knows where a question is whose sending had no answer: then bot,
 * chat and token count alone.
 */
function isMessage({ message }: ChatQuestion, { id }: UpdateChat, messageId: string): boolean {
  return message === null || message.chat !== id || message.ids.includes(messageId);
}
