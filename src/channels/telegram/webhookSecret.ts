import { createHash, createHmac, timingSafeEqual } from "node:crypto";

/** What Telegram shows with each call to a bot's webhook, which is all that proves it. */
export type WebhookSecrets = {
  /** Given to Telegram: 43 letters of base64url. */
  of(botId: string): string;
  /** Whether a call showed it, under any key of the ring: after a rotation Telegram shows the old one until it is told the new. */
  isGenuine(botId: string, shown: string | undefined): boolean;
};

/** `keys`: derived from the key ring for this purpose, the first one first. */
export function webhookSecrets(keys: readonly [Buffer, ...Buffer[]]): WebhookSecrets {
  const secret = (key: Buffer, botId: string) =>
    createHmac("sha256", key).update(`telegram bot ${botId}`).digest("base64url");
  return {
    of: (botId) => secret(keys[0], botId),
    isGenuine: (botId, shown = "") => keys.map((key) => isSame(secret(key, botId), shown)).includes(true),
  };
}

/** Takes the same time wherever they differ, and however long what was shown is. */
const isSame = (a: string, b: string): boolean => timingSafeEqual(digest(a), digest(b));

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
