import type { TelegramUpdate } from "#src/channels/telegram/updates.ts";
import type { Dependencies } from "../../dependencies.ts";
import type { Cause } from "../../handle.ts";
import { moveChat } from "../channelAddresses.ts";
import { onPress } from "./presses.ts";
import { onReply } from "./reasons.ts";
import { botOf, type TelegramDependencies } from "./telegram.ts";

/** Handles updates of Telegram bots, whether received by webhook or polling. */
export type TelegramUpdates = {
  /**
   * Handles an update of a bot. A repeated update changes nothing. Returns undefined if no identity uses the bot. Throws Unavailable if
   * Telegram must deliver the update again.
   */
  take(botId: string, update: TelegramUpdate): Promise<{ taken: true } | undefined>;
};

export const telegramUpdates = (deps: Dependencies, desk: TelegramDependencies): TelegramUpdates => ({
  async take(botId, update) {
    const known = await desk.registry.find(botId);
    const bot = known && botOf({ ...deps, ...desk }, known, known.uses);
    if (!known || !bot) return undefined;
    if (update.kind === "press") await onPress(deps, { ...desk, botId, bot }, update);
    else if (update.kind === "reply") await onReply(deps, { ...desk, botId, bot }, update);
    else {
      for (const { identityId, workspaceId } of known.uses) {
        await moveChat(
          deps,
          { identityId, from: update.from, to: update.to },
          toldBy(botId, update.updateId, workspaceId),
        );
      }
    }
    return { taken: true };
  },
});

function toldBy(botId: string, updateId: number, workspaceId: string): Cause {
  const id = `telegram-${botId}-${updateId}`;
  return { actor: { kind: "system", id: "telegram" }, workspaceId, correlationId: id, causationId: id };
}
