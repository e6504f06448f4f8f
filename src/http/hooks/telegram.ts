import express, { type Request, type Response, type Router } from "express";
import { readUpdate } from "#src/channels/telegram/updates.ts";
import type { WebhookSecrets } from "#src/channels/telegram/webhookSecret.ts";
import type { TelegramUpdates } from "#src/commands/approvals/telegram/telegramUpdates.ts";
import { Rejected } from "#streams/decider.ts";
import { errorHandler } from "../framework/errorHandler.ts";
import { rawBody } from "./rawBody.ts";

export type TelegramHookOptions = {
  updates: TelegramUpdates;
  secrets: WebhookSecrets;
  /** Counts a request without the bot's secret; throws Rejected rate_limited if its sender has tried too often. */
  countForged(request: Request): Promise<void>;
};

/** Bytes. An update has at most two messages of 4,096 characters and their buttons. */
const maxBytes = 256 * 1024;

/**
 * Receives updates for a bot by POST with the bot's secret. Answers 200 once the update is handled; after a failure Telegram repeats it.
 * Updates for unused bots and unknown updates get 200 too: repeating them would change nothing.
 */
export function telegramHook({ updates, secrets, countForged }: TelegramHookOptions): Router {
  const router = express.Router();
  const path = "/hooks/telegram/:bot";
  router.post(
    path,
    async (request, _, next) => {
      const { bot } = request.params as { bot: string };
      if (!/^\d{1,20}$/.test(bot)) return next("route");
      if (secrets.isGenuine(bot, request.get("X-Telegram-Bot-Api-Secret-Token"))) return next();
      await countForged(request);
      throw new Rejected("unauthorized", "this call does not have the bot's secret");
    },
    rawBody(maxBytes),
    async (request: Request<{ bot: string }>, response: Response) => {
      const update = readUpdate(parsed(request.body));
      if (update) await updates.take(request.params.bot, update);
      response.status(200).end();
    },
  );
  router.use(
    path,
    errorHandler(({ error, response, next }) => {
      const { status } = error as { status?: unknown };
      if (response.headersSent || typeof status !== "number" || status < 400 || status >= 500) return next(error);
      // The body could not be read: too large, or compressed.
      response.status(status).end();
    }),
  );
  return router;
}

function parsed(body: unknown): unknown {
  try {
    return JSON.parse(Buffer.isBuffer(body) ? body.toString() : "");
  } catch {
    return undefined;
  }
}
