import type { ChatPerson, DecideRequest } from "#src/channels/approvalDecisions.ts";
import type { Bot, MessageAddress } from "#src/channels/telegram/botApi.ts";
import { conclusionMessage } from "#src/channels/telegram/conclusion.ts";
import { TelegramFailure } from "#src/channels/telegram/telegramFailure.ts";
import { Rejected } from "#streams/decider.ts";
import type { Dependencies } from "../../dependencies.ts";
import { loadThread } from "../../threads/threads.ts";
import type { ChatQuestion } from "../chatQuestions.ts";
import { type PressReply, replyToPress } from "./pressReplies.ts";
import type { TelegramDependencies } from "./telegram.ts";

/** The bot that received an update, and the services with which it decides. */
export type BotContext = TelegramDependencies & { botId: string; bot: Bot };

/** Records a decision and returns the reply to the user. Throws Unavailable if it is unknown whether it was recorded. */
export async function decideInChat(
  { decisions, botId }: Pick<BotContext, "decisions" | "botId">,
  press: Pick<DecideRequest, "token" | "decision" | "edit"> & { reason?: string; by: ChatPerson; updateId: number },
): Promise<PressReply> {
  const { token, decision, reason, edit, by, updateId } = press;
  try {
    // The request was made by Telegram: its IP address and user agent do not describe the person.
    const where = { ip: undefined, userAgent: undefined, requestId: `telegram-${botId}-${updateId}` };
    const result = await decisions.decide({ token, decision, reason, ...(edit && { edit }), by, ...where });
    return replyToPress(result);
  } catch (error) {
    if (!(error instanceof Rejected)) throw error;
    return { toast: `Nothing was decided: ${error.message}`, ends: false };
  }
}

/** Removes the buttons of a request that can no longer be decided. */
export async function endQuestion(
  deps: Dependencies,
  { bot }: Pick<BotContext, "bot">,
  { place, said, question }: { place: MessageAddress; said: PressReply; question: ChatQuestion },
): Promise<void> {
  if (!said.ends) return;
  if (said.sentence === undefined) return ignoreFailure(bot.setKeyboard(place, []));
  const threadSubject = await subjectOf(deps, question);
  await ignoreFailure(bot.edit(place, conclusionMessage({ sentence: said.sentence, threadSubject })));
}

/** Returns the thread's subject. */
export const subjectOf = async (deps: Dependencies, { draft }: ChatQuestion): Promise<string> =>
  (await loadThread(deps, draft.threadId)).state.subject;

/** Waits for a call to Telegram and ignores its failure. */
export async function ignoreFailure(call: Promise<unknown>): Promise<void> {
  await call.catch((error) => {
    if (!(error instanceof TelegramFailure)) throw error;
  });
}
