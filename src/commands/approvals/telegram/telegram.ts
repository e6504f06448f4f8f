import type { ApprovalDecisions } from "#src/channels/approvalView.ts";
import type { Bot, Bots } from "#src/channels/telegram/botApi.ts";
import type { BotRegistry, BotUse, KnownBot } from "#src/channels/telegram/botRegistry.ts";
import { botIdOf } from "#src/channels/telegram/botToken.ts";
import type { Dependencies } from "../../dependencies.ts";
import { open } from "../approvalChannels.ts";
import type { ChatQuestion } from "../chatQuestions.ts";

/** What decisions in Telegram are made with. */
export type TelegramDesk = { bots: Bots; registry: BotRegistry; decisions: ApprovalDecisions };

/** Calls that one round makes at most to find a token that is good. */
const mostTokens = 20;

/**
 * The bot, once by each of the tokens that its users have named, as far as they can be opened. A bot's id is no secret, and anybody can name a token
 * that begins with it: so one may not be Telegram's, and whose comes next is another workspace's, however many one of them has named.
 */
export function botsOf(
  { keyRing, bots }: Pick<Dependencies, "keyRing"> & Pick<TelegramDesk, "bots">,
  { botId }: Pick<KnownBot, "botId">,
  uses: readonly BotUse[],
): Bot[] {
  const namedBy = new Map<string, string[]>();
  for (const use of uses) {
    const token = tokenOf({ keyRing }, use);
    const named = namedBy.get(use.workspaceId) ?? [];
    if (botIdOf(token) === botId && !named.includes(token)) namedBy.set(use.workspaceId, [...named, token]);
  }
  const inTurn = [...namedBy.values()].flatMap((named) => named.map((token, turn) => ({ token, turn })));
  inTurn.sort((one, other) => one.turn - other.turn);
  return [...new Set(inTurn.map(({ token }) => token))].slice(0, mostTokens).map(bots);
}

/** The question's own bot, by the token that its identity has now. */
export const botAsking = ({ bots }: Pick<TelegramDesk, "bots">, { channel }: ChatQuestion): Bot =>
  bots(channel?.config.bot_token ?? "");

const tokenOf = (deps: Pick<Dependencies, "keyRing">, { workspaceId, slot, sealedToken }: BotUse): string =>
  open(deps, sealedToken, {
    workspaceId,
    field: `${slot === "primary" ? "approvalChannel" : "secondaryApprovalChannel"}.bot_token`,
  });
