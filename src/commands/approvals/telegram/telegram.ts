import type { ApprovalDecisions } from "#src/channels/approvalDecisions.ts";
import type { Bot, Bots } from "#src/channels/telegram/botApi.ts";
import type { BotRegistry, BotUse, KnownBot } from "#src/channels/telegram/botRegistry.ts";
import { botIdOf } from "#src/channels/telegram/botToken.ts";
import { TelegramFailure } from "#src/channels/telegram/telegramFailure.ts";
import type { Dependencies } from "../../dependencies.ts";
import { open } from "../approvalChannels.ts";

/** Dependencies of decisions in Telegram. */
export type TelegramDependencies = { bots: Bots; registry: BotRegistry; decisions: ApprovalDecisions };

/**
 * Returns the bot, able to use the tokens of all its users; undefined if none can be decrypted. A bot's id is not secret: a workspace that
 * names it with an invalid token must not block the others.
 */
export function botOf(
  { keyRing, bots }: Pick<Dependencies, "keyRing"> & Pick<TelegramDependencies, "bots">,
  { botId }: Pick<KnownBot, "botId">,
  uses: readonly BotUse[],
): Bot | undefined {
  const namedBy = new Map<string, string[]>();
  for (const use of uses) {
    const token = tokenOf({ keyRing }, use);
    const named = namedBy.get(use.workspaceId) ?? [];
    if (botIdOf(token) === botId && !named.includes(token)) namedBy.set(use.workspaceId, [...named, token]);
  }
  // Takes one token per workspace in turn, so that a workspace with many tokens does not delay another's first.
  const inTurn = [...namedBy.values()].flatMap((named) => named.map((token, turn) => ({ token, turn })));
  inTurn.sort((one, other) => one.turn - other.turn);
  const tokens = new Set(inTurn.map(({ token }) => token));
  return tokens.size === 0 ? undefined : byAnyOf([...tokens].map(bots));
}

/** Returns a bot whose calls use the first token that Telegram accepts. */
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
          // Concurrent calls may fail with the same token: advance past it only once.
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
