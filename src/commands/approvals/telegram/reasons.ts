import { named } from "#src/channels/card/names.ts";
import { withoutReason } from "#src/channels/telegram/buttons.ts";
import { unlinkedInChat as inert } from "#src/channels/telegram/inert.ts";
import { plain, styled } from "#src/channels/telegram/styled.ts";
import { asFailure } from "#src/channels/telegram/telegramFailure.ts";
import type { TelegramUpdate } from "#src/channels/telegram/updates.ts";
import type { Dependencies } from "../../dependencies.ts";
import { open } from "../approvalChannels.ts";
import { chatQuestion } from "../chatQuestions.ts";
import { type BotContext, decideInChat, endQuestion, ignoreFailure } from "./decideInChat.ts";
import { whyPressRefused } from "./pressPermission.ts";

type Press = Extract<TelegramUpdate, { kind: "press" }>;
type Reply = Extract<TelegramUpdate, { kind: "reply" }>;

const maxReasonBytes = 2048;
const field = "telegram.prompt";

/**
 * Asks the person who pressed Reject for the reason, and stores which request the reply will belong to, because any instance may receive
 * the reply at any time. Does not decide yet.
 */
export async function askForReason(
  deps: Dependencies,
  { bot, botId, registry }: BotContext,
  { press, token, workspaceId, subject }: { press: Press; token: string; workspaceId: string; subject: string },
): Promise<void> {
  const { by, chat, messageId, keyboard, pressId } = press;
  const text = styled([
    // The mention makes Telegram ask only this user for a reply, even in a group.
    { text: inert(by.name), link: `tg://user?id=${by.id}` },
    { text: `, why do you reject this draft? Reply to this message with the reason. The agent will see it.\n` },
    { text: inert(named(subject || "(no subject)", 200)) },
  ]);
  try {
    const placed = await bot.send({ ...text, chat: chat.id, replyTo: messageId, asksReply: "The reason" });
    const sealedToken = deps.keyRing.seal(token, { workspaceId, field });
    await registry.keepPrompt({
      botId,
      chat: placed.chat,
      messageId: placed.id,
      userId: by.id,
      workspaceId,
      sealedToken,
    });
  } catch (error) {
    const { message } = asFailure(error);
    return ignoreFailure(bot.answerPress(pressId, `Nothing was decided. ${message}: press Reject again.`, true));
  }
  const toast = "Nothing is decided yet: reply with the reason, or press “Reject without a reason”.";
  await Promise.all([
    ignoreFailure(bot.answerPress(pressId, toast, false)),
    keyboard && ignoreFailure(bot.setKeyboard({ chat: chat.id, id: messageId }, withoutReason(keyboard))),
  ]);
}

/** Handles a reply: rejects the draft with the text as the reason. Ignores replies of people who were not asked. */
export async function onReply(deps: Dependencies, desk: BotContext, reply: Reply): Promise<void> {
  const { bot, botId, registry } = desk;
  const { by, chat, text } = reply;
  const at = { botId, chat: chat.id, messageId: reply.toMessageId };
  const prompt = await registry.findPrompt(at);
  if (!prompt || prompt.userId !== by.id) return;
  const say = (sentence: string) =>
    ignoreFailure(bot.send({ ...plain(sentence), chat: chat.id, replyTo: reply.messageId }));
  if (text === null) return say("Nothing is decided yet: send the reason as text, in reply to my question.");
  if (Buffer.byteLength(text) > maxReasonBytes) {
    return say(
      "Nothing is decided yet: the reason is too long (2,048 bytes at most). Reply once more with a shorter one.",
    );
  }
  const token = open(deps, prompt.sealedToken, { workspaceId: prompt.workspaceId, field });
  const question = token === "" ? undefined : await chatQuestion(deps, token);
  const refusal = question && whyPressRefused(question, { botId, chat, by });
  if (!question || refusal !== undefined)
    return say(refusal ?? "Nothing is decided yet: press Reject again, and I will ask for the reason again.");
  const said = await decideInChat(desk, { token, decision: "reject", reason: text, by, updateId: reply.updateId });
  const id = question.message?.ids.at(-1);
  const place = question.message && id !== undefined ? { chat: question.message.chat, id } : undefined;
  await Promise.all([say(inert(said.toast)), place && endQuestion(deps, desk, { place, said, question })]);
  if (said.ends) await registry.endPrompt(at);
}
