import { createRequire } from "node:module";
import { type StoredBotUpdate, TelegramServer } from "telegram-test-api/lib/telegramServer.js";
import { freePort } from "../../../scripts/support/freePort.ts";
import { startFront } from "./front.ts";

type EmulatedWebhook = { url: string; secret_token?: string };

/** A message in a chat, as the emulator stores it: numbers may be text, as received. */
export type EmulatedMessage = {
  id: number;
  chat: string;
  text: string;
  entities: { type: string; offset: number; length: number; url?: string }[];
  buttons: { text: string; callback_data?: string; url?: string }[];
  asksReply: boolean;
};

export type TelegramPerson = { userId?: number; firstName?: string; userName?: string };

/**
 * Telegram, as telegram-test-api emulates it on a socket of this machine: each call to a webhook has the secret registered for it, and a
 * failing one is reported to its trigger.
 */
export async function startTelegram() {
  const server = new TelegramServer({ host: "127.0.0.1", port: await freePort(), storeTimeout: 3_600 });
  await server.start();
  const front = await startFront(server.config.apiURL);
  const { webhooks } = server as unknown as { webhooks: Record<string, EmulatedWebhook> };
  const { interceptors } = createRequire(createRequire(import.meta.url).resolve("telegram-test-api"))("axios");
  const showing = interceptors.request.use((request: { url: string; headers: Record<string, string> }) => {
    const webhook = Object.values(webhooks).find(({ url }) => url === request.url);
    if (webhook?.secret_token) request.headers["X-Telegram-Bot-Api-Secret-Token"] = webhook.secret_token;
    return request;
  });

  const shown = (token: string, chat: string): EmulatedMessage[] =>
    server
      .getUpdatesHistory(token)
      .filter((update): update is StoredBotUpdate => "message" in update && "chat_id" in update.message)
      .filter(({ message }) => String(message.chat_id) === chat)
      .map(({ messageId, message }) => shownOf(messageId, message as never));

  return {
    apiRoot: front.url,
    /** Every call of a bot, oldest first. */
    calls: front.calls,
    /** Overrides the answers to later calls; undefined leaves the answer to the emulator. */
    answers: front.answers,
    webhooks,
    /** The bot's messages in a chat, oldest first, in their current form. */
    shown,
    /** The newest message with buttons. */
    question: (token: string, chat: string) => shown(token, chat).findLast(({ buttons }) => buttons.length > 0),
    /** Presses the button with `data` under a message, as a person. Resolves if the bot accepts the call, else rejects. */
    async press(
      token: string,
      {
        chat,
        message,
        data,
        by = {},
        answered,
        chatType,
      }: {
        chat: string;
        message: EmulatedMessage | number;
        data: string;
        by?: TelegramPerson;
        /** Text of the message that the message with the button replies to. */
        answered?: string;
        chatType?: "channel" | "supergroup";
      },
    ) {
      const client = server.getClient(token, { chatId: Number(chat), ...by });
      const query = client.makeCallbackQuery(data);
      const message_id = typeof message === "number" ? message : message.id;
      const reply_markup = typeof message === "number" ? undefined : { inline_keyboard: [message.buttons] };
      const reply_to_message = answered === undefined ? undefined : { message_id: message_id - 1, text: answered };
      const place = { ...query.message.chat, ...(chatType && { type: chatType }) };
      const placed = { ...query.message, chat: place, message_id, reply_markup, reply_to_message };
      await server.addUserCallback({ ...query, message: placed } as never);
    },
    /** Writes an answer to a message, as a person. */
    async reply(
      token: string,
      { chat, to, text, by = {} }: { chat: string; to: number; text: string; by?: TelegramPerson },
    ) {
      const client = server.getClient(token, { chatId: Number(chat), ...by });
      const message = client.makeMessage(text) as object;
      await server.addUserMessage({ ...message, reply_to_message: { message_id: to } } as never);
    },
    /** Sends any message update to the bot. */
    async tell(token: string, message: object) {
      await server.addUserMessage({ botToken: token, date: 0, ...message } as never);
    },
    async stop() {
      interceptors.request.eject(showing);
      await front.stop();
      await server.stop();
    },
  };
}

export type Telegram = Awaited<ReturnType<typeof startTelegram>>;

function shownOf(id: number, message: Record<string, any>): EmulatedMessage {
  const { chat_id, text, entities = [], reply_markup = {} } = message;
  const buttons = (reply_markup.inline_keyboard ?? []).flat();
  return { id, chat: String(chat_id), text, entities, buttons, asksReply: reply_markup.force_reply === true };
}

/** Makes a token in Telegram's form. */
export const botToken = (id: number): string =>
  `${id}:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDs${String(id).padStart(3, "x").slice(-3)}`;
