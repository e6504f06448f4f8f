import type { ChatPerson, Decision } from "#src/channels/approvalView.ts";
import type { Bot } from "#src/channels/telegram/botApi.ts";
import { TelegramFailure } from "#src/channels/telegram/telegramFailure.ts";
import { Rejected } from "#streams/decider.ts";
import type { Dependencies } from "../../dependencies.ts";
import { loadThread } from "../../threads/threads.ts";
import type { ChatQuestion } from "../chatQuestions.ts";
import { type Said, wordsOf } from "./resultWords.ts";
import type { TelegramDesk } from "./telegram.ts";

/** The bot that was told something, and what is decided with. */
export type AtBot = TelegramDesk & { botId: string; bot: Bot };

/** The decision on record, and what to say of it. Throws Unavailable if it is not known whether it is. */
export async function decide(
  deps: Dependencies,
  { decisions, botId }: Pick<AtBot, "decisions" | "botId">,
  press: { token: string; decision: Decision; reason?: string; by: ChatPerson; updateId: number },
): Promise<Said> {
  const { token, decision, reason, by, updateId } = press;
  try {
    // The call is Telegram's: its address and program say nothing of the person.
    const where = { ip: undefined, userAgent: undefined, requestId: `telegram-${botId}-${updateId}` };
    const result = await decisions.decide({ token, decision, reason, by, ...where });
    return wordsOf(result, { by, at: deps.clock.now().toISOString(), reason });
  } catch (error) {
    if (!(error instanceof Rejected)) throw error;
    return { toast: `Nothing was decided: ${error.message}`, sentence: null };
  }
}

/** The conversation's own subject. */
export const subjectOf = async (deps: Dependencies, { draft }: ChatQuestion): Promise<string> =>
  (await loadThread(deps, draft.threadId)).state.subject;

/** Waits for a call to Telegram that may come to nothing. */
export async function swallowed(call: Promise<unknown>): Promise<void> {
  await call.catch((error) => {
    if (!(error instanceof TelegramFailure)) throw error;
  });
}
