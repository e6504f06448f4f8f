import { cutText } from "#streams/cutText.ts";
import { allowedUsersOf } from "../allowedUsers.ts";
import { editPlace } from "../approvalView.ts";
import type { Channel, ChannelAnswer, ChannelRequest, Conclusion, ShortNotice } from "../channel.ts";
import type { Bot, Bots, MessageAddress } from "./botApi.ts";
import { conclusionMessage } from "./conclusion.ts";
import { unlinkedInChat as inert } from "./inert.ts";
import { questionMessages } from "./questionMessages.ts";
import { maxMessageLength, plain } from "./styled.ts";
import { asFailure, type TelegramFailure } from "./telegramFailure.ts";

/** Maximum length in milliseconds of a pause requested by Telegram that is waited for here; a longer pause is left to the next attempt. */
const longestPauseMs = 3_000;

/** Asks approvers in a Telegram chat; they decide by buttons (commands/approvals/telegram/). */
export const telegramChannel = ({ bots }: { bots: Bots }): Channel => ({
  ask: (request) => caught(() => ask(bots, request)),
  conclude: (conclusion) => caught(() => conclude(bots, conclusion)),
  tell: (notice) => caught(() => tell(bots, notice)),
});

async function caught(work: () => Promise<ChannelAnswer>): Promise<ChannelAnswer> {
  try {
    return await work();
  } catch (error) {
    return notReached(asFailure(error));
  }
}

/** After status 429 the request is retried at the time that Telegram gives; this does not count as a failed attempt. */
function notReached({ kind, message, said }: TelegramFailure): ChannelAnswer {
  const inMs = said.retryAfterSeconds === undefined ? {} : { inMs: said.retryAfterSeconds * 1000 };
  return { reached: false, error: `Telegram: ${message}`, again: kind === "again", ...inMs };
}

async function ask(bots: Bots, { channel, view, tokens, links }: ChannelRequest): Promise<ChannelAnswer> {
  const { bot_token = "", chat_id = "" } = channel.config;
  const bot = bots(bot_token);
  const allowedUsers = allowedUsersOf(channel.config);
  // Anyone with the link may decide, so it is omitted if only some people may.
  const link = allowedUsers === null ? links.approve : null;
  const asked = { card: view.card, tokens, link, allowedUsers, edit: editPlace(view, maxMessageLength) };
  const { parts, question, keyboard } = questionMessages(asked);
  const chat = { id: chat_id };
  const placed: MessageAddress[] = [];
  for (const part of parts) placed.push(await send(bot, chat, { ...part, silently: true }));
  placed.push(await send(bot, chat, { ...question, keyboard }));
  const ids = placed.map(({ id }) => id);
  const message = { chat: placed.at(-1)!.chat, ids };
  return { reached: true, message, ...(chat.id !== chat_id && { movedTo: chat.id }) };
}

async function tell(bots: Bots, { channel, lines }: ShortNotice): Promise<ChannelAnswer> {
  const { bot_token = "", chat_id = "" } = channel.config;
  const text = cutText(lines.map(inert).join("\n"), maxMessageLength);
  await send(bots(bot_token), { id: chat_id }, plain(text));
  return { reached: true };
}

/** Sends to the chat's current id, and records it. */
async function send(
  bot: Bot,
  chat: { id: string },
  message: Omit<Parameters<Bot["send"]>[0], "chat">,
): Promise<MessageAddress> {
  const deliver = () => bot.send({ ...message, chat: chat.id });
  try {
    return await deliver();
  } catch (error) {
    const { movedTo, retryAfterSeconds } = asFailure(error).said;
    if (movedTo === undefined && (retryAfterSeconds ?? Number.POSITIVE_INFINITY) * 1000 > longestPauseMs) throw error;
    if (movedTo !== undefined) chat.id = movedTo;
    else await new Promise((resolve) => setTimeout(resolve, (retryAfterSeconds ?? 0) * 1000));
    return deliver();
  }
}

/** Replaces the question by its outcome. A message that is gone, or is in a chat that the bot left, needs nothing more. */
async function conclude(bots: Bots, { channel, message, ...said }: Conclusion): Promise<ChannelAnswer> {
  const id = message.ids.at(-1);
  if (id === undefined) return { reached: true };
  const bot = bots(channel.config.bot_token ?? "");
  try {
    await bot.edit({ chat: message.chat, id }, conclusionMessage(said));
  } catch (error) {
    const failure = asFailure(error);
    if (failure.kind === "again") return notReached(failure);
    const isSettled = ["not_modified", "gone", "moved"].includes(failure.said.code);
    return isSettled ? { reached: true } : notReached(failure);
  }
  return { reached: true };
}
