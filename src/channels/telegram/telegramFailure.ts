export type FailureCode =
  | "no_token"
  | "no_bot"
  | "chat_not_found"
  | "blocked"
  | "removed"
  | "moved"
  | "not_modified"
  | "gone"
  | "too_many"
  | "elsewhere"
  | "timeout"
  | "no_answer"
  | "garbled"
  | "other";

const sentences: Record<FailureCode, string> = {
  no_token: "bot_token does not have the form of a Telegram bot token: set the whole token that @BotFather gave you",
  no_bot: "Telegram has no bot with this bot_token: set the one that @BotFather shows now",
  chat_not_found:
    "Telegram cannot find the chat: check chat_id, and let the person press Start in the bot or add the bot to the group",
  blocked: "the approver has blocked the bot or never started it: let them press Start in it again",
  removed: "the bot may not write in this chat: add it to the group again, with the right to send messages",
  moved: "the group has a new id at Telegram",
  not_modified: "the message is already like that",
  gone: "the message no longer exists",
  too_many: "Telegram is busy and asked to retry later",
  elsewhere: "another program receives this bot's updates: a bot works with one installation at a time",
  timeout: "Telegram did not answer in time",
  no_answer: "Telegram cannot be reached",
  garbled: "Telegram's response cannot be read",
  other: "Telegram refused the call",
};

/**
 * Telegram's response. `retryAfterSeconds`: pause before further calls. `movedTo`: the chat's new id. `words`: its description of
 * an error that we have no sentence for, quoted.
 */
type TelegramResponse = {
  code: FailureCode;
  status?: number;
  retryAfterSeconds?: number;
  movedTo?: string;
  words?: string;
};

/**
 * A call to Telegram that failed, or whose outcome is unknown. `again`: a later retry may help; `refused`: a retry would not. Its message
 * is one line without secrets: our sentence, the status and Telegram's words.
 */
export class TelegramFailure extends Error {
  override readonly name = "TelegramFailure";
  readonly kind: "again" | "refused";
  readonly said: TelegramResponse;
  constructor(kind: "again" | "refused", said: TelegramResponse) {
    super(`${sentences[said.code]}${said.status ? ` (${said.status})` : ""}${said.words ?? ""}`);
    this.kind = kind;
    this.said = said;
  }
}

/** Returns the failure; rethrows any other error. */
export function asFailure(error: unknown): TelegramFailure {
  if (error instanceof TelegramFailure) return error;
  throw error;
}
