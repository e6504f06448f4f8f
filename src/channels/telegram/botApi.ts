import { Api, NetworkError, ParseError, TelegramApiError, TelegramBotError, TimeoutError } from "node-telegram-bot-api";
import { shortenText } from "#streams/cutText.ts";
import { quotedWords } from "../providerWords.ts";
import { isBotToken } from "./botToken.ts";
import { boundedFetch } from "./boundedFetch.ts";
import type { Keyboard, Styled } from "./styled.ts";
import { TelegramFailure } from "./telegramFailure.ts";

/** Address of a message at Telegram. */
export type MessageAddress = { chat: string; id: string };

/** `silently`: without a sound on phones. `asksReply`: asks the person replied to (`replyTo`) to write. */
export type OutgoingMessage = Styled & {
  chat: string;
  keyboard?: Keyboard;
  silently?: boolean;
  asksReply?: string;
  replyTo?: string;
};

/** One bot. Every call ends within its time limit and fails with a TelegramFailure, which contains no secret. */
export type Bot = {
  send(message: OutgoingMessage): Promise<MessageAddress>;
  /** Replaces text and buttons of a message; without a keyboard it has no buttons. */
  edit(at: MessageAddress, message: Styled & { keyboard?: Keyboard }): Promise<void>;
  setKeyboard(at: MessageAddress, keyboard: Keyboard): Promise<void>;
  /** Shows a text over the chat to the person who pressed; an `alert` has to be closed by them. */
  answerPress(pressId: string, text: string, alert: boolean): Promise<void>;
  setWebhook(webhook: { url: string; secret: string }): Promise<void>;
  deleteWebhook(): Promise<void>;
  /** Returns the updates from `offset` on, waiting at most `waitSeconds`. Telegram forgets all before `offset`. */
  updates(request: { offset: number | null; waitSeconds: number; signal: AbortSignal }): Promise<unknown[]>;
};

/** Makes a bot from its token. Throws TelegramFailure for an invalid token. */
export type Bots = (token: string) => Bot;

/** `callMs`: time limit of one call. */
export type BotApiOptions = { apiRoot: string; callMs?: number; fetch?: typeof fetch };

const usualCallMs = 10_000;
const maxToastLength = 200;

/** The only kinds of updates that bots request. */
export const wantedUpdates = ["callback_query", "message"] as const;

/** Maximum number of seconds of a pause that is reported to the caller; a longer pause is reported as this one. */
const longestPauseSeconds = 3_600;

/** Maximum number of concurrent calls of Telegram to one bot's webhook. */
const webhookConnections = 10;

export function telegramBots({ apiRoot, callMs = usualCallMs, fetch: given }: BotApiOptions): Bots {
  // No automatic retries: repeating a send whose answer was only late would ask twice; the caller decides.
  const options = { apiRoot, timeoutMs: callMs, maxRetries: 0, fetch: boundedFetch(given) };
  return (token) => {
    if (!isBotToken(token)) throw new TelegramFailure("refused", { code: "no_token" });
    return bot(new Api(token, options), callsWith(token));
  };
}

type Call = <Result>(ask: () => Promise<Result>) => Promise<Result>;

const bot = (api: Api, call: Call): Bot => ({
  async send({ chat, text, entities, keyboard, silently, asksReply, replyTo }) {
    const message = await call(() =>
      api.sendMessage({
        ...{ chat_id: chat, text, entities, link_preview_options: { is_disabled: true } },
        ...(silently && { disable_notification: true }),
        ...(replyTo !== undefined && {
          reply_parameters: { message_id: Number(replyTo), allow_sending_without_reply: true },
        }),
        ...(keyboard && { reply_markup: { inline_keyboard: keyboard } }),
        ...(asksReply !== undefined && {
          reply_markup: { force_reply: true as const, selective: true, input_field_placeholder: asksReply },
        }),
      }),
    );
    const placed = { chat: message?.chat?.id, id: message?.message_id };
    if (typeof placed.chat !== "number" || typeof placed.id !== "number")
      throw new TelegramFailure("again", { code: "garbled" });
    return { chat: String(placed.chat), id: String(placed.id) };
  },
  async edit({ chat, id }, { text, entities, keyboard = [] }) {
    const reply_markup = { inline_keyboard: keyboard };
    const link_preview_options = { is_disabled: true };
    await call(() =>
      api.editMessageText({
        chat_id: chat,
        message_id: Number(id),
        text,
        entities,
        reply_markup,
        link_preview_options,
      }),
    );
  },
  async setKeyboard({ chat, id }, keyboard) {
    const reply_markup = { inline_keyboard: keyboard };
    await call(() => api.editMessageReplyMarkup({ chat_id: chat, message_id: Number(id), reply_markup }));
  },
  async answerPress(pressId, text, alert) {
    const shown = shortenText(text, maxToastLength);
    await call(() => api.answerCallbackQuery({ callback_query_id: pressId, text: shown, show_alert: alert }));
  },
  async setWebhook({ url, secret }) {
    await call(() =>
      api.setWebhook({
        url,
        secret_token: secret,
        allowed_updates: [...wantedUpdates],
        max_connections: webhookConnections,
      }),
    );
  },
  async deleteWebhook() {
    await call(() => api.deleteWebhook());
  },
  async updates({ offset, waitSeconds, signal }) {
    const after = offset === null ? {} : { offset };
    const updates: unknown = await call(() =>
      api.getUpdates({ ...after, timeout: waitSeconds, allowed_updates: [...wantedUpdates] }, signal),
    );
    if (!Array.isArray(updates)) throw new TelegramFailure("again", { code: "garbled" });
    return updates;
  },
});

/** Makes calls that fail with a TelegramFailure only. */
const callsWith =
  (token: string): Call =>
  async (ask) => {
    try {
      return await ask();
    } catch (error) {
      throw failureOf(error, token);
    }
  };

/** Errors of the library itself may quote the URL of the call, and with it the token: only codes are kept. */
function failureOf(error: unknown, token: string): TelegramFailure {
  if (error instanceof TelegramApiError) return answered(error, token);
  if (error instanceof TimeoutError) return new TelegramFailure("again", { code: "timeout" });
  if (error instanceof ParseError) return new TelegramFailure("again", { code: "garbled" });
  if (error instanceof NetworkError) return new TelegramFailure("again", { code: "no_answer" });
  const code = error instanceof TelegramBotError || !(error instanceof DOMException) ? "garbled" : "no_answer";
  return new TelegramFailure("again", { code });
}

/** Telegram's descriptions of errors for which a sentence of ours says what to do. Other descriptions are passed on. */
const known: [RegExp, "chat_not_found" | "blocked" | "removed" | "not_modified" | "gone"][] = [
  [/chat not found|PEER_ID_INVALID/i, "chat_not_found"],
  [/blocked by the user|user is deactivated|can't initiate conversation/i, "blocked"],
  [/kicked|not a member|not enough rights|have no rights|CHAT_WRITE_FORBIDDEN/i, "removed"],
  [/message is not modified/i, "not_modified"],
  [/message to edit not found|message can't be edited|MESSAGE_ID_INVALID|message to be replied not found/i, "gone"],
];

function answered(
  { errorCode, description, retryAfter, migrateToChatId }: TelegramApiError,
  token: string,
): TelegramFailure {
  const status = Number.isInteger(errorCode) ? errorCode : 0;
  if (status === 429) {
    const seconds = Number.isFinite(retryAfter) ? Math.min(Math.max(1, Number(retryAfter)), longestPauseSeconds) : 1;
    return new TelegramFailure("again", { code: "too_many", status, retryAfterSeconds: seconds });
  }
  if (Number.isSafeInteger(migrateToChatId))
    return new TelegramFailure("refused", { code: "moved", status, movedTo: String(migrateToChatId) });
  const code = known.find(([pattern]) => pattern.test(String(description)))?.[1];
  if (code) return new TelegramFailure("refused", { code, status });
  if (status === 401 || status === 404) return new TelegramFailure("refused", { code: "no_bot", status });
  // Another instance polls for this bot, or has just stopped polling.
  if (status === 409) return new TelegramFailure("again", { code: "elsewhere", status });
  const isFinal = status >= 400 && status < 500;
  // The secret part of the token is left out also where it stands alone.
  const words = quotedWords(description, [token, token.slice(token.indexOf(":") + 1)]);
  return new TelegramFailure(isFinal ? "refused" : "again", { code: "other", status, words });
}
