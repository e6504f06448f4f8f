import { createHash, createHmac, timingSafeEqual } from "node:crypto";

/** The secret that Telegram sends with each call to a bot's webhook, the only proof that the call is genuine. */
export type WebhookSecrets = {
  /** Secret registered at Telegram: 43 characters of base64url. */
  of(botId: string): string;
  /**
   * True if the call has the secret, under any key of the ring: after a key rotation Telegram sends the old one until it is registered
   * again.
   */
  isGenuine(botId: string, shown: string | undefined): boolean;
};

/** `keys`: derived from the key ring for this purpose, current key first. */
export function webhookSecrets(keys: readonly [Buffer, ...Buffer[]]): WebhookSecrets {
  const secret = (key: Buffer, botId: string) =>
    createHmac("sha256", key).update(`telegram bot ${botId}`).digest("base64url");
  return {
    of: (botId) => secret(keys[0], botId),
    isGenuine: (botId, shown = "") => keys.map((key) => isSame(secret(key, botId), shown)).includes(true),
  };
}

/** Compares in constant time, whatever the values' lengths and differences. */
const isSame = (a: string, b: string): boolean => timingSafeEqual(digest(a), digest(b));

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
