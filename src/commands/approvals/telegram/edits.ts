import type { ChatPerson, EditedText, EditPreview, LinkedApproval } from "#src/channels/approvalDecisions.ts";
import { editPlace } from "#src/channels/approvalView.ts";
import { buttonData, readButton } from "#src/channels/telegram/buttons.ts";
import { editSpans } from "#src/channels/telegram/cardSpans.ts";
import { unlinkedInChat as inert } from "#src/channels/telegram/inert.ts";
import { inMessages, maxMessageLength, plain, styled } from "#src/channels/telegram/styled.ts";
import { asFailure } from "#src/channels/telegram/telegramFailure.ts";
import type { TelegramUpdate } from "#src/channels/telegram/updates.ts";
import type { Dependencies } from "../../dependencies.ts";
import { open } from "../approvalChannels.ts";
import { type ChatQuestion, chatQuestion } from "../chatQuestions.ts";
import { answerPress, type TelegramPress } from "./answerPress.ts";
import { type BotContext, decideInChat, endQuestion, ignoreFailure } from "./decideInChat.ts";
import { whyPressRefused } from "./pressPermission.ts";
import { replyToPress, unknownButton } from "./pressReplies.ts";

type Reply = Extract<TelegramUpdate, { kind: "reply" }> & { by: ChatPerson };

/** Field under which what a prompt's reply belongs to is sealed. */
export const promptField = "telegram.prompt";

/** Maximum number of messages of a preview; what does not fit is counted in it. */
const mostParts = 6;

/** Sends the text to copy, and asks the person for the new one. Decides nothing. */
export async function askForEdit(
  deps: Dependencies,
  { bot, botId, registry }: BotContext,
  {
    press,
    token,
    workspaceId,
    link,
  }: { press: TelegramPress; token: string; workspaceId: string; link: LinkedApproval },
): Promise<void> {
  const { by, chat, messageId, pressId } = press;
  const refuse = (toast: string) => ignoreFailure(bot.answerPress(pressId, toast, true));
  const place = editPlace(link, maxMessageLength);
  if (place !== "chat")
    return refuse(
      place === null
        ? "Approvers cannot edit the drafts of this address here."
        : "This draft has formatted text or is too long to be edited in a chat.",
    );
  const { subject, body_text } = link.content;
  const question = styled([
    // The mention makes Telegram ask only this user for a reply, even in a group.
    { text: inert(by.name), link: `tg://user?id=${by.id}` },
    {
      text: `, reply to this message with the whole new text. The present text is above, to be copied. The subject is\n`,
    },
    { text: subject || "(no subject)", style: "verbatim" },
    { text: "\nTo change it too, begin with a line “Subject: …” and an empty line. Then I show you what changes." },
  ]);
  try {
    const text = styled([{ text: body_text, style: "verbatim" }]);
    await bot.send({ ...text, chat: chat.id, replyTo: messageId, silently: true });
    const placed = await bot.send({ ...question, chat: chat.id, replyTo: messageId, asksReply: "The new text" });
    const sealedToken = deps.keyRing.seal(buttonData("edit", token), { workspaceId, field: promptField });
    const at = { botId, chat: placed.chat, messageId: placed.id, userId: by.id };
    await registry.keepPrompt({ ...at, workspaceId, sealedToken });
  } catch (error) {
    return refuse(`Nothing was decided: press Edit again. ${asFailure(error).message}`);
  }
  await ignoreFailure(bot.answerPress(pressId, "Nothing is decided yet: reply with the new text.", false));
}

/**
 * Shows how the replied text would change the draft, with the buttons that send or cancel it. Stores the hash of the edited draft and no
 * text: the message with the buttons replies to the person's own message, whose text Telegram returns with a press.
 */
export async function previewReply(
  deps: Dependencies,
  { bot, botId, registry, decisions }: BotContext,
  { reply, question, token }: { reply: Reply; question: ChatQuestion; token: string },
): Promise<void> {
  const { by, chat } = reply;
  const say = (sentence: string) =>
    ignoreFailure(bot.send({ ...plain(inert(sentence)), chat: chat.id, replyTo: reply.messageId }));
  const link = await decisions.find(token);
  if (!link) return say(unknownButton.toast);
  const result = await decisions.previewEdit({ token, by, ...editIn(reply.typed ?? "", link) });
  if (result.kind === "edit_refused") return say(`Nothing is decided. ${result.sentence} You may reply once more.`);
  if (result.kind !== "preview") return say(replyToPress(result).toast);
  try {
    const placed = await sendPreview({ bot }, { reply, token, preview: result });
    const { workspaceId } = question.draft;
    const state = `${buttonData("send_edit", token)}:${result.editedSha256}`;
    const sealedToken = deps.keyRing.seal(state, { workspaceId, field: promptField });
    const at = { botId, chat: placed.chat, messageId: placed.id, userId: by.id };
    await registry.keepPrompt({ ...at, workspaceId, sealedToken });
  } catch (error) {
    await say(`Nothing is decided: reply once more. ${asFailure(error).message}`);
  }
}

async function sendPreview(
  { bot }: Pick<BotContext, "bot">,
  { reply, token, preview: { view } }: { reply: Reply; token: string; preview: EditPreview },
) {
  const chat = reply.chat.id;
  const sends = view.sendsOnApproval ? "Send this" : "Approve this";
  const { messages, left } = inMessages(editSpans(view.card), { most: mostParts });
  for (const part of messages) await bot.send({ ...styled(part), chat, silently: true });
  const notShown = left > 0 ? `${left.toLocaleString("en")} more characters are not shown. ` : "";
  const question = `${sends}? ${notShown}The edit is not saved yet: the button saves and approves exactly the text of your message, as version ${view.version}.`;
  const keyboard = [
    [
      { text: sends, callback_data: buttonData("send_edit", token) },
      { text: "Cancel", callback_data: buttonData("cancel_edit", token) },
    ],
  ];
  return bot.send({ ...plain(question), chat, keyboard, replyTo: reply.messageId });
}

/** Handles a press under a preview. Only the person whose edit it is can send it, and only the text that was shown. */
export async function onPreviewPress(
  deps: Dependencies,
  desk: BotContext,
  { press, button }: { press: TelegramPress; button: NonNullable<ReturnType<typeof readButton>> },
): Promise<void> {
  const { bot, botId, registry, decisions } = desk;
  const { by, chat, messageId, updateId } = press;
  const at = { botId, chat: chat.id, messageId };
  const tell = (toast: string) => answerPress(desk, press, { toast, ends: false });
  const prompt = await registry.findPrompt(at);
  if (!prompt) return answerPress(desk, press, unknownButton);
  if (prompt.userId !== by.id) return tell("Only the person who wrote this edit can send or cancel it.");
  const preview = /^(s:[\w-]{43}):([0-9a-f]{64})$/.exec(
    open(deps, prompt.sealedToken, { workspaceId: prompt.workspaceId, field: promptField }),
  );
  const token = preview && readButton(preview[1] ?? "")?.token;
  const question = token === button.token ? await chatQuestion(deps, token) : undefined;
  const refusal = whyPressRefused(question, { botId, chat, by });
  if (!question || refusal !== undefined) return tell(refusal ?? unknownButton.toast);
  const close = () =>
    Promise.all([registry.endPrompt(at), ignoreFailure(bot.setKeyboard({ chat: chat.id, id: messageId }, []))]);
  if (button.action === "cancel_edit") {
    await close();
    return answerPress(desk, press, { toast: "Cancelled. Nothing was decided.", ends: true });
  }
  const link = await decisions.find(button.token);
  if (!link || press.answeredText === null)
    return tell("Nothing was decided: your message with the text is gone. Press Edit again.");
  const edit = { ...editIn(press.answeredText, link), previewedSha256: preview?.[2] ?? "" };
  const said = await decideInChat(desk, { token: button.token, decision: "edit", edit, by, updateId });
  const id = question.message?.ids.at(-1);
  const place = question.message && id !== undefined ? { chat: question.message.chat, id } : undefined;
  await Promise.all([answerPress(desk, press, said), place && endQuestion(deps, desk, { place, said, question })]);
  if (said.ends) await close();
}

/** Reads the new subject, if the first line names one before an empty line, and the new text. */
function editIn(typed: string, { content }: Pick<LinkedApproval, "content">): EditedText {
  const text = typed.replace(/\r\n?/g, "\n");
  const [head, subject] = /^\s*Subject:[ \t]*([^\n]*)\n[ \t]*\n/i.exec(text) ?? [];
  return head === undefined || subject === undefined
    ? { subject: content.subject, text }
    : { subject, text: text.slice(head.length) };
}
