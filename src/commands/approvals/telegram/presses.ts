import { readButton } from "#src/channels/telegram/buttons.ts";
import type { Dependencies } from "../../dependencies.ts";
import { chatQuestion } from "../chatQuestions.ts";
import { answerPress as answer, type TelegramPress } from "./answerPress.ts";
import { type BotContext, decideInChat, endQuestion, subjectOf } from "./decideInChat.ts";
import { askForEdit, onPreviewPress } from "./edits.ts";
import { whyPressRefused } from "./pressPermission.ts";
import { unknownButton, whyDecided } from "./pressReplies.ts";
import { askForText, refuseInChannel } from "./reasons.ts";

/** Handles a pressed button. Reject and Ask for changes only ask the person for a text; their reply decides. */
export async function onPress(deps: Dependencies, desk: BotContext, press: TelegramPress): Promise<void> {
  const button = readButton(press.data);
  if (button && (button.action === "send_edit" || button.action === "cancel_edit"))
    return onPreviewPress(deps, desk, { press, button });
  const question = button && (await chatQuestion(deps, button.token));
  const refusal = whyPressRefused(question, { ...desk, ...press });
  if (!button || !question || refusal !== undefined) {
    return answer(desk, press, refusal === undefined ? unknownButton : { toast: refusal, ends: false });
  }
  const { action, token } = button;
  const decision = action === "approve" || action === "edit" ? "approve" : "reject";
  const asksText = action === "reject" || action === "request_changes" || action === "edit";
  // The token to approve only approves, as it is or edited; all other buttons have the token to reject.
  if (question.asked.decision !== decision) return answer(desk, press, unknownButton);
  const link = asksText ? await desk.decisions.find(token) : undefined;
  const over = asksText ? whyDecided(link, deps.clock.now()) : undefined;
  if (asksText && !over && press.chat.isChannel) return refuseInChannel(desk, { press, action });
  if (action === "edit" && link && !over)
    return askForEdit(deps, desk, { press, token, workspaceId: question.draft.workspaceId, link });
  if (asksText && action !== "edit" && !over) {
    const { workspaceId } = question.draft;
    return askForText(deps, desk, { press, action, token, workspaceId, subject: await subjectOf(deps, question) });
  }
  const said = over ?? (await decideInChat(desk, { token, decision, by: press.by, updateId: press.updateId }));
  const place = { chat: press.chat.id, id: press.messageId };
  await Promise.all([answer(desk, press, said), endQuestion(deps, desk, { place, said, question })]);
}
