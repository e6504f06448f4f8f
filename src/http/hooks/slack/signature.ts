import { createHmac, timingSafeEqual } from "node:crypto";

/** How far Slack's clock and ours may be apart. What is older is a replay. */
const windowMs = 5 * 60_000;

export type Signed = {
  /** The headers X-Slack-Signature and X-Slack-Request-Timestamp; undefined where they are missing. */
  signature: string | undefined;
  timestamp: string | undefined;
  /** As it came, byte for byte. */
  body: Buffer;
};

/** Whether Slack signed a request with this secret, by the scheme that it calls v0, within the last five minutes. */
export function isFromSlack({ signature = "", timestamp = "", body }: Signed, secret: string, nowMs: number): boolean {
  if (!/^\d{1,12}$/.test(timestamp) || Math.abs(nowMs - Number(timestamp) * 1000) > windowMs) return false;
  const expected = Buffer.from(
    `v0=${createHmac("sha256", secret).update(`v0:${timestamp}:`).update(body).digest("hex")}`,
  );
  const given = Buffer.from(signature);
  return given.length === expected.length && timingSafeEqual(given, expected);
}
