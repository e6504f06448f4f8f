import type { TelegramUpdate } from "#src/channels/telegram/updates.ts";
import { type BotContext, ignoreFailure } from "./decideInChat.ts";
import type { PressReply } from "./pressReplies.ts";

export type TelegramPress = Extract<TelegramUpdate, { kind: "press" }>;

/** Shows a reply to a press. Telegram may refuse the reply as too late; the decision is valid nevertheless. */
export const answerPress = (
  { bot }: Pick<BotContext, "bot">,
  { pressId }: Pick<TelegramPress, "pressId">,
  { toast, ends }: PressReply,
): Promise<void> => ignoreFailure(bot.answerPress(pressId, toast, !ends));
