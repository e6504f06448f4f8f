import { Api, NetworkError, ParseError, TelegramApiError, TelegramBotError, TimeoutError } from "node-telegram-bot-api";
import { isBotToken } from "./botToken.ts";
import { boundedFetch } from "./boundedFetch.ts";
import type { Keyboard, Styled } from "./styled.ts";
import { TelegramFailure } from "./telegramFailure.ts";

/** Where a message is, as Telegram names it. */
export type Placed = { chat: string; id: string };

/** `silently`: no phone makes a sound. `asksReply`: the person replied to (`replyTo`) is asked to write. */
export type Outgoing = Styled & {
  chat: string;
  keyboard?: Keyboard;
  silently?: boolean;
  asksReply?: string;
  replyTo?: string;
};

/** One bot. Every call ends within its time and fails with a TelegramFailure, which holds no secret. */
export type Bot = {
  send(message: Outgoing): Promise<Placed>;
  /** Text and buttons of a message are these from now on; no keyboard: no buttons. */
  edit(at: Placed, message: Styled & { keyboard?: Keyboard }): Promise<void>;
  setKeyboard(at: Placed, keyboard: Keyboard): Promise<void>;
  /** The words that are shown over the chat to who pressed; an `alert` has to be closed by them. */
  answerPress(pressId: string, text: string, alert: boolean): Promise<void>;
  setWebhook(webhook: { url: string; secret: string }): Promise<void>;
  deleteWebhook(): Promise<void>;
  /** What came since the update before `offset`, after `waitSeconds` at most. Telegram forgets all before `offset`. */
  updates(request: { offset: number | null; waitSeconds: number; signal: AbortSignal }): Promise<unknown[]>;
};

/** A bot by its token. Throws TelegramFailure for what is no token. */
export type Bots = (token: string) => Bot;

/** `callMs`: how long one call may take. */
export type BotApiOptions = { apiRoot: string; callMs?: number; fetch?: typeof fetch };

const usualCallMs = 10_000;
const maxToastLength = 200;

/** The updates that bots are sent, and no others. */
export const wantedUpdates = ["callback_query", "message"] as const;

/** A longer pause than that is asked about again. */
const longestPauseSeconds = 3_600;

/** How many calls of Telegram one bot's webhook gets at once. */
const webhookConnections = 10;

export function telegramBots({ apiRoot, callMs = usualCallMs, fetch: given }: BotApiOptions): Bots {
  // A send that is tried again at once would ask twice where only the answer was late; who calls decides.
  const options = { apiRoot, timeoutMs: callMs, maxRetries: 0, fetch: boundedFetch(given) };
  return (token) => {
    if (!isBotToken(token)) throw new TelegramFailure("refused", { code: "no_token" });
    return bot(new Api(token, options));
  };
}

const bot = (api: Api): Bot => ({
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
    const shown = text.length > maxToastLength ? `${text.slice(0, maxToastLength - 1)}…` : text;
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

async function call<Result>(ask: () => Promise<Result>): Promise<Result> {
  try {
    return await ask();
  } catch (error) {
    throw failureOf(error);
  }
}

/** Errors of the library may quote the address of the call, and with it the token: only codes are taken over. */
function failureOf(error: unknown): TelegramFailure {
  if (error instanceof TelegramApiError) return answered(error);
  if (error instanceof TimeoutError) return new TelegramFailure("again", { code: "timeout" });
  if (error instanceof ParseError) return new TelegramFailure("again", { code: "garbled" });
  if (error instanceof NetworkError) return new TelegramFailure("again", { code: "no_answer" });
  const code = error instanceof TelegramBotError || !(error instanceof DOMException) ? "garbled" : "no_answer";
  return new TelegramFailure("again", { code });
}

/** What Telegram says in words is compared, and never repeated. */
const known: [RegExp, "chat_not_found" | "blocked" | "removed" | "not_modified" | "gone"][] = [
  [/chat not found|PEER_ID_INVALID/i, "chat_not_found"],
  [/blocked by the user|user is deactivated|can't initiate conversation/i, "blocked"],
  [/kicked|not a member|not enough rights|have no rights|CHAT_WRITE_FORBIDDEN/i, "removed"],
  [/message is not modified/i, "not_modified"],
  [/message to edit not found|message can't be edited|MESSAGE_ID_INVALID|message to be replied not found/i, "gone"],
];

function answered({ errorCode, description, retryAfter, migrateToChatId }: TelegramApiError): TelegramFailure {
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
  // Another instance polls, or did until a moment ago.
  if (status === 409) return new TelegramFailure("again", { code: "elsewhere", status });
  const isFinal = status >= 400 && status < 500;
  return new TelegramFailure(isFinal ? "refused" : "again", { code: "other", status });
}
