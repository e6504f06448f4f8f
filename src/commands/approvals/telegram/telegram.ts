import type { ApprovalDecisions } from "#src/channels/approvalDecisions.ts";
import type { Bot, Bots } from "#src/channels/telegram/botApi.ts";
import type { BotRegistry, BotUse, KnownBot } from "#src/channels/telegram/botRegistry.ts";
import { botIdOf } from "#src/channels/telegram/botToken.ts";
import { TelegramFailure } from "#src/channels/telegram/telegramFailure.ts";
import type { Dependencies } from "../../dependencies.ts";
import { open } from "../approvalChannels.ts";

/** What decisions in Telegram are made with. */
export type TelegramDesk = { bots: Bots; registry: BotRegistry; decisions: ApprovalDecisions };

/**
 * The bot, by the tokens of all who use it; undefined if no token of it can be opened. Its id is no secret: one who names it with a token that Telegram
 * does not know, or no longer knows, must not hold up the others.
 */
export function botOf(
  { keyRing, bots }: Pick<Dependencies, "keyRing"> & Pick<TelegramDesk, "bots">,
  { botId }: Pick<KnownBot, "botId">,
  uses: readonly BotUse[],
): Bot | undefined {
  const namedBy = new Map<string, string[]>();
  for (const use of uses) {
    const token = tokenOf({ keyRing }, use);
    const named = namedBy.get(use.workspaceId) ?? [];
    if (botIdOf(token) === botId && !named.includes(token)) namedBy.set(use.workspaceId, [...named, token]);
  }
  // In turn, so that however many one workspace names, the first of another's is not behind them.
  const inTurn = [...namedBy.values()].flatMap((named) => named.map((token, turn) => ({ token, turn })));
  inTurn.sort((one, other) => one.turn - other.turn);
  const tokens = new Set(inTurn.map(({ token }) => token));
  return tokens.size === 0 ? undefined : byAnyOf([...tokens].map(bots));
}

/** Each call is made by the first of them that Telegram knows. */
function byAnyOf(same: readonly Bot[]): Bot {
  let first = 0;
  const made = (method: keyof Bot) =>
    async function call(...given: unknown[]): Promise<unknown> {
      for (;;) {
        const at = first;
        const bot = same[at] as Record<keyof Bot, (...given: unknown[]) => Promise<unknown>>;
        try {
          return await bot[method](...given);
        } catch (error) {
          if (!isUnknownToTelegram(error) || at + 1 >= same.length) throw error;
          // Calls at once may meet the same one.
          first = Math.max(first, at + 1);
        }
      }
    };
  const methods = Object.keys(same[0] as Bot) as (keyof Bot)[];
  return Object.fromEntries(methods.map((method) => [method, made(method)])) as unknown as Bot;
}

const isUnknownToTelegram = (error: unknown): boolean =>
  error instanceof TelegramFailure && error.said.code === "no_bot";

const tokenOf = (deps: Pick<Dependencies, "keyRing">, { workspaceId, slot, sealedToken }: BotUse): string =>
  open(deps, sealedToken, {
    workspaceId,
    field: `${slot === "primary" ? "approvalChannel" : "secondaryApprovalChannel"}.bot_token`,
  });
