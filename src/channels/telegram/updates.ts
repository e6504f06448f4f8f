import { shortLine, visible } from "#src/html/visible.ts";
import { storable } from "#src/mail/in/storable.ts";
import type { ChatPerson } from "../approvalDecisions.ts";
import type { Keyboard } from "./styled.ts";

/** A chat as named in an update. `username`: of a public chat, without its @. In a channel nobody can write by name. */
export type UpdateChat = { id: string; username: string | null; isChannel: boolean };

/**
 * A Telegram update that concerns approvals. `press`: a button under `messageId`, with the current buttons if Telegram includes them.
 * `reply`: an answer to `toMessageId`; `by` is null if it was written in the name of a group or channel, `text` if it is not text. `moved`:
 * the chat `from` now has the id `to`.
 */
export type TelegramUpdate =
  | {
      kind: "press";
      updateId: number;
      pressId: string;
      by: ChatPerson;
      chat: UpdateChat;
      messageId: string;
      data: string;
      keyboard: Keyboard | null;
      /** Text of the message that the message with the button replies to; null if it is gone or is not text. */
      answeredText: string | null;
    }
  | {
      kind: "reply";
      updateId: number;
      by: ChatPerson | null;
      chat: UpdateChat;
      messageId: string;
      toMessageId: string;
      text: string | null;
      /** The text as it was typed, with invisible characters. */
      typed: string | null;
    }
  | { kind: "moved"; updateId: number; from: string; to: string };

type Json = Record<string, unknown>;

/**
 * Parses an update; undefined if it does not concern us. Texts in it contain no NUL and no half characters; names and `text` also no
 * invisible characters.
 */
export function readUpdate(update: unknown): TelegramUpdate | undefined {
  const updateId = updateIdOf(update);
  if (updateId === undefined || !isObject(update)) return undefined;
  if (isObject(update.callback_query)) return readPress(updateId, update.callback_query);
  return isObject(update.message) ? readMessage(updateId, update.message) : undefined;
}

/** Returns the number of an update, which increases; undefined if there is none. */
export function updateIdOf(update: unknown): number | undefined {
  const id = isObject(update) ? update.update_id : undefined;
  return Number.isSafeInteger(id) ? (id as number) : undefined;
}

function readPress(updateId: number, { id, from, message, data }: Json): TelegramUpdate | undefined {
  const by = personOf(from);
  const chat = isObject(message) ? chatOf(message.chat) : undefined;
  const messageId = isObject(message) ? idOf(message.message_id) : undefined;
  const answered = isObject(message) && isObject(message.reply_to_message) ? message.reply_to_message.text : null;
  const answeredText = typedText(answered);
  if (typeof id !== "string" || !by || !chat || messageId === undefined || typeof data !== "string") return undefined;
  return {
    kind: "press",
    updateId,
    pressId: id,
    by,
    chat,
    messageId,
    data,
    keyboard: keyboardOf(message as Json),
    answeredText,
  };
}

function readMessage(updateId: number, message: Json): TelegramUpdate | undefined {
  const chat = chatOf(message.chat);
  if (!chat) return undefined;
  const to = idOf(message.migrate_to_chat_id);
  if (to !== undefined) return { kind: "moved", updateId, from: chat.id, to };
  const from = idOf(message.migrate_from_chat_id);
  if (from !== undefined) return { kind: "moved", updateId, from, to: chat.id };
  const by = isAnonymous(message) ? null : personOf(message.from);
  const messageId = idOf(message.message_id);
  const toMessageId = isObject(message.reply_to_message) ? idOf(message.reply_to_message.message_id) : undefined;
  if (by === undefined || messageId === undefined || toMessageId === undefined) return undefined;
  const typed = typedText(message.text);
  const text = typed === null ? null : visible(typed).trim();
  return { kind: "reply", updateId, by, chat, messageId, toMessageId, text: text || null, typed };
}

/** Telegram's accounts that stand in for a group (GroupAnonymousBot), a channel (Channel_Bot), and a channel whose posts are forwarded. */
const standIns = [1_087_968_824, 136_817_688, 777_000];

/** True if an administrator writes in the name of the group, or somebody in the name of a channel. */
const isAnonymous = ({ sender_chat, from }: Json): boolean =>
  isObject(sender_chat) || (isObject(from) && standIns.includes(from.id as number));

const typedText = (text: unknown): string | null => (typeof text === "string" ? storable(text) : null);

/** Identifies a person by the permanent id; the name is their own choice, and may be missing. */
function personOf(from: unknown): ChatPerson | undefined {
  const id = isObject(from) ? idOf(from.id) : undefined;
  if (id === undefined) return undefined;
  const { first_name, last_name, username } = from as Json;
  const given = [first_name, last_name].filter((part): part is string => typeof part === "string").join(" ");
  const name = shortLine(given, 100) || (typeof username === "string" && shortLine(`@${username}`, 100)) || "";
  return { kind: "telegram", id, name: name || `Telegram user ${id}` };
}

function chatOf(chat: unknown): UpdateChat | undefined {
  const id = isObject(chat) ? idOf(chat.id) : undefined;
  if (id === undefined) return undefined;
  const { username, type } = chat as Json;
  return { id, username: typeof username === "string" ? username : null, isChannel: type === "channel" };
}

/** Returns the buttons under a message; null unless all of them are of kinds that we set. */
function keyboardOf({ reply_markup }: Json): Keyboard | null {
  const rows = isObject(reply_markup) ? reply_markup.inline_keyboard : undefined;
  if (!Array.isArray(rows)) return null;
  const keyboard = rows.map((row) => (Array.isArray(row) ? row.map(buttonOf) : [undefined]));
  return keyboard.flat().includes(undefined) ? null : (keyboard as Keyboard);
}

function buttonOf(button: unknown): Keyboard[number][number] | undefined {
  if (!isObject(button) || typeof button.text !== "string") return undefined;
  const { text, callback_data, url } = button;
  if (typeof callback_data === "string") return { text, callback_data };
  return typeof url === "string" ? { text, url } : undefined;
}

const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null;

const idOf = (value: unknown): string | undefined => (Number.isSafeInteger(value) ? String(value) : undefined);
