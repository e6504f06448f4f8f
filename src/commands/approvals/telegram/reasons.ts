import { maxReasonBytes } from "#src/channels/approvalDecisions.ts";
import { named } from "#src/channels/card/names.ts";
import { type ButtonAction, buttonData, readButton, withoutReason } from "#src/channels/telegram/buttons.ts";
import { unlinkedInChat as inert } from "#src/channels/telegram/inert.ts";
import { plain, styled } from "#src/channels/telegram/styled.ts";
import { asFailure } from "#src/channels/telegram/telegramFailure.ts";
import type { TelegramUpdate } from "#src/channels/telegram/updates.ts";
import type { Dependencies } from "../../dependencies.ts";
import { open } from "../approvalChannels.ts";
import { chatQuestion } from "../chatQuestions.ts";
import type { TelegramPress } from "./answerPress.ts";
import { type BotContext, decideInChat, endQuestion, ignoreFailure } from "./decideInChat.ts";
import { previewReply, promptField } from "./edits.ts";
import { whyPressRefused } from "./pressPermission.ts";

type Reply = Extract<TelegramUpdate, { kind: "reply" }>;

/** Buttons that ask for a text. */
type TextAction = Extract<ButtonAction, "reject" | "request_changes">;

type TextRequest = { press: TelegramPress; action: TextAction; token: string; workspaceId: string; subject: string };

/** Our words to the person, by the button that they pressed. */
const prompts: Record<TextAction, { question: string; placeholder: string; toast: string; button: string }> = {
  reject: {
    question: ", why do you reject this draft? Reply to this message with the reason. The agent will see it.\n",
    placeholder: "The reason",
    toast: "Nothing is decided yet: reply with the reason, or press “Reject without a reason”.",
    button: "Reject",
  },
  request_changes: {
    question:
      ", what should the agent change? Reply to this message. The agent will see it, and you are asked about its next version.\n",
    placeholder: "The changes",
    toast: "Nothing is decided yet: reply with what the agent should change.",
    button: "Ask for changes",
  },
};

/**
 * Asks the person for the reason of a rejection or the changes that they want, and stores which button the reply will belong to, because
 * any instance may receive the reply at any time. Does not decide yet.
 */
export async function askForText(
  deps: Dependencies,
  { bot, botId, registry }: BotContext,
  { press, action, token, workspaceId, subject }: TextRequest,
): Promise<void> {
  const { by, chat, messageId, keyboard, pressId } = press;
  const prompt = prompts[action];
  const text = styled([
    // The mention makes Telegram ask only this user for a reply, even in a group.
    { text: inert(by.name), link: `tg://user?id=${by.id}` },
    { text: prompt.question },
    { text: inert(named(subject || "(no subject)", 200)) },
  ]);
  try {
    const placed = await bot.send({ ...text, chat: chat.id, replyTo: messageId, asksReply: prompt.placeholder });
    const sealedToken = deps.keyRing.seal(buttonData(action, token), { workspaceId, field: promptField });
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
    return ignoreFailure(
      bot.answerPress(pressId, `Nothing was decided: press ${prompt.button} again. ${message}`, true),
    );
  }
  await Promise.all([
    ignoreFailure(bot.answerPress(pressId, prompt.toast, false)),
    action === "reject" &&
      keyboard &&
      ignoreFailure(bot.setKeyboard({ chat: chat.id, id: messageId }, withoutReason(keyboard))),
  ]);
}

/**
 * Refuses to ask for a text in a channel, where nobody can reply by name, and says what else can be done. Leaves a button that rejects
 * without a reason.
 */
export async function refuseInChannel(
  { bot }: Pick<BotContext, "bot">,
  { press, action }: { press: TelegramPress; action: ButtonAction },
): Promise<void> {
  const { chat, messageId, keyboard, pressId } = press;
  const instead = action === "reject" ? "Press “Reject without a reason”, or give the reason" : "Do this";
  const toast = `Nothing is decided yet: in a channel nobody can reply by name. ${instead} on the draft's page or in the console.`;
  await Promise.all([
    ignoreFailure(bot.answerPress(pressId, toast, true)),
    action === "reject" &&
      keyboard &&
      ignoreFailure(bot.setKeyboard({ chat: chat.id, id: messageId }, withoutReason(keyboard))),
  ]);
}

/** Our words about an answer to a prompt that was written in the name of a group or channel. */
function asYourself(action: ButtonAction | undefined): string {
  const instead = action === "reject" ? ", or press “Reject without a reason”" : "";
  return `Nothing is decided yet: this answer came in the name of a group or channel, so it does not show who wrote it. Reply once more as yourself (as an administrator with “Remain anonymous” switched off)${instead}.`;
}

/** Handles a reply: rejects the draft for this reason, or asks for these changes. Ignores replies of people who were not asked. */
export async function onReply(deps: Dependencies, desk: BotContext, reply: Reply): Promise<void> {
  const { bot, botId, registry } = desk;
  const { by, chat, text } = reply;
  const at = { botId, chat: chat.id, messageId: reply.toMessageId };
  const prompt = await registry.findPrompt(at);
  if (!prompt || (by !== null && prompt.userId !== by.id)) return;
  const say = (sentence: string) =>
    ignoreFailure(bot.send({ ...plain(sentence), chat: chat.id, replyTo: reply.messageId }));
  const button = readButton(open(deps, prompt.sealedToken, { workspaceId: prompt.workspaceId, field: promptField }));
  if (by === null) return say(asYourself(button?.action));
  if (text === null) return say("Nothing is decided yet: send your answer as text, in reply to my question.");
  const question = button && (await chatQuestion(deps, button.token));
  const refusal = question && whyPressRefused(question, { botId, chat, by });
  if (!button || !question || refusal !== undefined)
    return say(refusal ?? "Nothing is decided yet: press the button again, and I will ask again.");
  if (button.action === "edit")
    return previewReply(deps, desk, { reply: { ...reply, by }, question, token: button.token });
  if (Buffer.byteLength(text) > maxReasonBytes) {
    return say(
      "Nothing is decided yet: the text is too long (2,048 bytes at most). Reply once more with a shorter one.",
    );
  }
  const decision = button.action === "request_changes" ? "request_changes" : "reject";
  const press = { token: button.token, decision, reason: text, by, updateId: reply.updateId } as const;
  const said = await decideInChat(desk, press);
  const id = question.message?.ids.at(-1);
  const place = question.message && id !== undefined ? { chat: question.message.chat, id } : undefined;
  await Promise.all([say(inert(said.toast)), place && endQuestion(deps, desk, { place, said, question })]);
  if (said.ends) await registry.endPrompt(at);
}
