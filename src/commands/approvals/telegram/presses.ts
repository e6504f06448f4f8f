import { readButton } from "#src/channels/telegram/buttons.ts";
import type { TelegramUpdate } from "#src/channels/telegram/updates.ts";
import type { Dependencies } from "../../dependencies.ts";
import { chatQuestion } from "../chatQuestions.ts";
import { type BotContext, decideInChat, endQuestion, ignoreFailure, subjectOf } from "./decideInChat.ts";
import { whyPressRefused } from "./pressPermission.ts";
import { type PressReply, unknownButton, whyDecided } from "./pressReplies.ts";
import { askForText } from "./reasons.ts";

type Press = Extract<TelegramUpdate, { kind: "press" }>;

/** Handles a pressed button. Reject and Ask for changes only ask the person for a text; their reply decides. */
export async function onPress(deps: Dependencies, desk: BotContext, press: Press): Promise<void> {
  const button = readButton(press.data);
  const question = button && (await chatQuestion(deps, button.token));
  const refusal = whyPressRefused(question, { ...desk, ...press });
  if (!button || !question || refusal !== undefined) {
    return answer(desk, press, refusal === undefined ? unknownButton : { toast: refusal, ends: false });
  }
  const { action, token } = button;
  const decision = action === "approve" ? "approve" : "reject";
  const asksText = action === "reject" || action === "request_changes";
  // The token to approve only approves; all other buttons have the token to reject.
  if (question.asked.decision !== decision) return answer(desk, press, unknownButton);
  const over = asksText ? whyDecided(await desk.decisions.find(token), deps.clock.now()) : undefined;
  if (asksText && !over) {
    const { workspaceId } = question.draft;
    return askForText(deps, desk, { press, action, token, workspaceId, subject: await subjectOf(deps, question) });
  }
  const said = over ?? (await decideInChat(desk, { token, decision, by: press.by, updateId: press.updateId }));
  const place = { chat: press.chat.id, id: press.messageId };
  await Promise.all([answer(desk, press, said), endQuestion(deps, desk, { place, said, question })]);
}

/** Shows a reply to a press. Telegram may refuse the reply as too late; the decision is valid nevertheless. */
const answer = ({ bot }: Pick<BotContext, "bot">, { pressId }: Press, { toast, ends }: PressReply): Promise<void> =>
  ignoreFailure(bot.answerPress(pressId, toast, !ends));
