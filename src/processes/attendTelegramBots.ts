import { createHash } from "node:crypto";
import type { Bot } from "#src/channels/telegram/botApi.ts";
import type { BotRegistry, BotUse, KnownBot } from "#src/channels/telegram/botRegistry.ts";
import { botIdOf } from "#src/channels/telegram/botToken.ts";
import { asFailure, type TelegramFailure } from "#src/channels/telegram/telegramFailure.ts";
import { readUpdate, updateIdOf } from "#src/channels/telegram/updates.ts";
import type { WebhookSecrets } from "#src/channels/telegram/webhookSecret.ts";
import { openedChannel } from "#src/commands/approvals/approvalChannels.ts";
import { channelOf } from "#src/commands/approvals/askApprovers.ts";
import { botOf, type TelegramDependencies } from "#src/commands/approvals/telegram/telegram.ts";
import type { TelegramUpdates } from "#src/commands/approvals/telegram/telegramUpdates.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { idOf, type Recorded } from "#streams/event.ts";
import type { IdentityEvent } from "#streams/identity/events.ts";
import type { NotYet, Process, ProcessContext } from "./process.ts";

/** `webhookBase`: URL prefix of the bots' webhooks, to which each bot's id is appended; null if updates are fetched by polling. */
export type BotAttendance = Pick<TelegramDependencies, "bots" | "registry"> & {
  updates: TelegramUpdates;
  secrets: WebhookSecrets;
  webhookBase: string | null;
};

const timer = "attend";
const keyPrefix = "bot ";
/** Duration of a long poll in seconds, during which Telegram keeps a request for updates open. */
const waitSeconds = 20;
/** Pause in milliseconds after an empty response, in case Telegram does not keep requests open. */
const emptyPauseMs = 1_000;
/** Milliseconds until a bot is checked again. After a restart, changed settings are noticed within this time. */
const lookAgainMs = 60_000;
const retryMs = [2_000, 10_000, 60_000, 300_000];
/**
 * Maximum number of tries per update. An update that keeps failing for internal reasons would delay all later ones, so it is then skipped,
 * and an error is logged.
 */
const triesOfUpdate = 3;

/**
 * Receives Telegram's updates for all bots with which identities ask approvers: by one webhook per bot, or by polling from one instance at
 * a time. If no identity uses a bot any more, its webhook is removed. Known bots are stored in a table; each is checked when an identity
 * starts or stops using it, and every `lookAgainMs`.
 */
export function attendTelegramBots(deps: Dependencies, attended: BotAttendance): Process {
  const { registry } = attended;

  async function noteUses(event: Recorded, { timers }: ProcessContext): Promise<void> {
    const botIds = await registry.setUses(idOf(event.stream), await usesOf(deps, idOf(event.stream)));
    for (const botId of botIds) await timers.set({ key: `${keyPrefix}${botId}`, name: timer, inMs: 0 });
  }

  async function attend(botId: string, context: ProcessContext, tries: number): Promise<NotYet | undefined> {
    const again = (inMs: number, failures = 0) =>
      context.timers.set({ key: `${keyPrefix}${botId}`, name: timer, inMs, payload: { tries: failures } });
    const known = await registry.find(botId);
    if (!known) return undefined;
    try {
      const bot = botOf({ ...deps, ...attended }, known, [...known.uses, ...known.former]);
      if (known.uses.length === 0) await leave(registry, known, bot);
      else if (bot) await again(await (attended.webhookBase === null ? poll : keepWebhook)({ known, bot }, context));
      return undefined;
    } catch (error) {
      if (context.signal.aborted) return { againInMs: 0 };
      if (error instanceof Unavailable) throw error;
      const failure = asFailure(error);
      say(failure, botId);
      await again(pauseAfter(failure, tries), tries + 1);
      return undefined;
    }
  }

  function say({ kind, message }: TelegramFailure, botId: string): void {
    if (kind === "refused") deps.log?.error({ bot: botId, reason: message }, "a Telegram bot cannot be used");
  }

  async function keepWebhook({ known, bot }: AttendedBot): Promise<number> {
    const webhook = { url: `${attended.webhookBase}${known.botId}`, secret: attended.secrets.of(known.botId) };
    const wanted = createHash("sha256").update(JSON.stringify(webhook)).digest("hex");
    if (known.registered !== wanted) {
      await bot.setWebhook(webhook);
      await registry.setRegistered(known.botId, wanted);
    }
    return lookAgainMs;
  }

  async function poll({ known, bot }: AttendedBot, { signal, attempt }: ProcessContext): Promise<number> {
    if (known.registered !== "polling") {
      await bot.deleteWebhook();
      await registry.setRegistered(known.botId, "polling");
    }
    const updates = await bot.updates({ offset: known.nextUpdate, waitSeconds, signal });
    for (const update of updates) await take(known.botId, update, attempt);
    if (updates.length > 0) return 0;
    // Telegram has discarded all updates before this offset. After a week without updates it restarts update ids at a random number and
    // would discard updates below the stored offset, so forget the offset.
    if (known.nextUpdate !== null) await registry.setNextUpdate(known.botId, null);
    return emptyPauseMs;
  }

  /** Records the progress after each update, so that none is skipped; an update that is received again changes nothing. */
  async function take(botId: string, update: unknown, attempt: number): Promise<void> {
    const updateId = updateIdOf(update);
    const read = readUpdate(update);
    if (updateId === undefined) return;
    try {
      if (read) await attended.updates.take(botId, read);
    } catch (error) {
      if (error instanceof Unavailable || attempt < triesOfUpdate) throw error;
      deps.log?.error({ err: error, bot: botId }, "an update of a Telegram bot was skipped");
    }
    await registry.setNextUpdate(botId, updateId + 1);
  }

  return {
    name: "attendTelegramBots",
    categories: ["identity"],
    keyOf: (event) => idOf(event.stream),
    concerns: (event) => changesBots(event as Recorded<IdentityEvent>),
    concurrency: 50,
    on: {
      IdentityCreated: noteUses,
      IdentityUpdated: noteUses,
      IdentitySecretsResealed: noteUses,
      IdentityDeleted: noteUses,
    },
    onTimer: ({ key, payload }, context) => {
      const { tries = 0 } = payload as { tries?: number };
      return attend(key.slice(keyPrefix.length), context, tries);
    },
  };
}

type AttendedBot = { known: KnownBot; bot: Bot };

/** Removes the bot's webhook if Telegram still accepts a stored token, then deletes the bot's row. */
async function leave(registry: BotRegistry, { botId, registered }: KnownBot, bot: Bot | undefined): Promise<void> {
  if (registered !== null && bot) {
    await bot.deleteWebhook().catch((error) => {
      if (asFailure(error).kind === "again") throw error;
    });
  }
  // If an identity named the bot again meanwhile, the bot's row stays, and its webhook must be registered again.
  if (!(await registry.forget(botId))) await registry.setRegistered(botId, null);
}

function pauseAfter({ said }: TelegramFailure, tries: number): number {
  const pause = retryMs[Math.min(tries, retryMs.length - 1)] as number;
  return Math.max(pause, (said.retryAfterSeconds ?? 0) * 1000);
}

/** Returns the bots that an identity uses now; [] if the identity is deleted. */
async function usesOf(deps: Dependencies, identityId: string): Promise<BotUse[]> {
  const { state: identity } = await deps.identities.load(identityId);
  const { workspaceId } = identity;
  if (!identity.exists || identity.deleted) return [];
  return (["primary", "secondary"] as const).flatMap((slot) => {
    const channel = channelOf(identity, slot);
    if (channel?.type !== "telegram") return [];
    const botId = botIdOf(openedChannel(deps, { workspaceId, slot }, channel).config.bot_token ?? "");
    const sealedToken = channel.config.bot_token ?? "";
    return botId === undefined ? [] : [{ identityId, workspaceId, slot, botId, sealedToken }];
  });
}

/**
 * Returns true if the event may change which bots an identity uses: not if an identity is created without a Telegram channel, or if only
 * other settings change.
 */
function changesBots({ type, data }: Recorded<IdentityEvent>): boolean {
  const isTelegram = (channel: { type: string } | null | undefined) => channel?.type === "telegram";
  if (type === "IdentityCreated") return isTelegram(data.approvalChannel) || isTelegram(data.secondaryApprovalChannel);
  if (type === "IdentityUpdated")
    return "approvalChannel" in data.changes || "secondaryApprovalChannel" in data.changes;
  return type === "IdentityDeleted" || type === "IdentitySecretsResealed";
}
