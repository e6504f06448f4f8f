import type { ApprovalDecisions } from "#src/channels/approvalView.ts";
import type { Bot, Bots } from "#src/channels/telegram/botApi.ts";
import type { BotRegistry, BotUse, KnownBot } from "#src/channels/telegram/botRegistry.ts";
import { botIdOf } from "#src/channels/telegram/botToken.ts";
import type { Dependencies } from "../../dependencies.ts";
import { open } from "../approvalChannels.ts";

/** What decisions in Telegram are made with. */
export type TelegramDesk = { bots: Bots; registry: BotRegistry; decisions: ApprovalDecisions };

/** The bot, by the token of whoever uses it; undefined if no token of it can be opened. */
export function botOf(
  { keyRing, bots }: Pick<Dependencies, "keyRing"> & Pick<TelegramDesk, "bots">,
  { botId }: Pick<KnownBot, "botId">,
  uses: readonly BotUse[],
): Bot | undefined {
  const token = uses.map((use) => tokenOf({ keyRing }, use)).find((each) => botIdOf(each) === botId);
  return token === undefined ? undefined : bots(token);
}

const tokenOf = (deps: Pick<Dependencies, "keyRing">, { workspaceId, slot, sealedToken }: BotUse): string =>
  open(deps, sealedToken, {
    workspaceId,
    field: `${slot === "primary" ? "approvalChannel" : "secondaryApprovalChannel"}.bot_token`,
  });
