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
 * Returns a bot that can use the tokens of all workspaces that name it; undefined if no token can be decrypted. A bot's id is not secret,
 * so a workspace that names the bot with an invalid token must not prevent the others from using it.
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
  // Order the tokens so that each workspace's first token comes before any workspace's second one. A workspace with many invalid tokens
  // then does not delay the others.
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
          // Several concurrent calls may fail with the same token: skip that token only once.
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
