import { readButton } from "#src/channels/telegram/buttons.ts";
import { conclusionMessage } from "#src/channels/telegram/conclusion.ts";
import type { TelegramUpdate } from "#src/channels/telegram/updates.ts";
import type { Dependencies } from "../../dependencies.ts";
import { chatQuestion } from "../chatQuestions.ts";
import { type AtBot, decide, subjectOf, swallowed } from "./deciding.ts";
import { askWhy } from "./reasons.ts";
import { overAlready, type Said } from "./resultWords.ts";
import { whyNot } from "./whoMayPress.ts";

type Press = Extract<TelegramUpdate, { kind: "press" }>;
type Pressed = { press: Press; threadSubject: string };

/** A button under a question was pressed. Reject decides nothing yet: it asks why. */
export async function onPress(deps: Dependencies, desk: AtBot, press: Press): Promise<void> {
  const button = readButton(press.data);
  const question = button && (await chatQuestion(deps, button.token));
  const refusal = whyNot(question, { ...desk, ...press });
  if (!button || !question || refusal !== undefined) {
    return answer(desk, press, { toast: refusal ?? "This button is not known here.", sentence: null });
  }
  const { action, token } = button;
  // Each button has the token of its own choice, and decides no other.
  if (question.asked.decision !== (action === "approve" ? "approve" : "reject")) {
    return answer(desk, press, { toast: "This button does not count here.", sentence: null });
  }
  const threadSubject = await subjectOf(deps, question);
  if (action === "reject") {
    const over = overAlready(await desk.decisions.find(token), deps.clock.now().toISOString());
    if (over) return finish(desk, { press, threadSubject }, over);
    return askWhy(deps, desk, { press, token, workspaceId: question.draft.workspaceId, subject: threadSubject });
  }
  const decision = action === "approve" ? "approve" : "reject";
  const said = await decide(deps, desk, { token, decision, by: press.by, updateId: press.updateId });
  return finish(desk, { press, threadSubject }, said);
}

/** Who pressed is told, and the question turns into what became of it. */
async function finish({ bot }: AtBot, { press, threadSubject }: Pressed, said: Said): Promise<void> {
  const { sentence } = said;
  const place = { chat: press.chat.id, id: press.messageId };
  await Promise.all([
    answer({ bot }, press, said),
    sentence !== null && swallowed(bot.edit(place, conclusionMessage({ sentence, threadSubject }))),
  ]);
}

/** An answer to a press may come too late, and what was pressed may be gone: the decision counts all the same. */
const answer = ({ bot }: Pick<AtBot, "bot">, { pressId }: Press, { toast, sentence }: Said): Promise<void> =>
  swallowed(bot.answerPress(pressId, toast, sentence === null));
