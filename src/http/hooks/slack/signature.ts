import { createHmac, timingSafeEqual } from "node:crypto";

/** Milliseconds that Slack's clock and ours may differ. Older requests are replays. */
const windowMs = 5 * 60_000;

export type SlackSignature = {
  /** The headers X-Slack-Signature and X-Slack-Request-Timestamp; undefined if missing. */
  signature: string | undefined;
  timestamp: string | undefined;
  /** The exact bytes received. */
  body: Buffer;
};

/** True if Slack signed the request with this secret, by its v0 scheme, within five minutes of `nowMs`. */
export function isFromSlack(
  { signature = "", timestamp = "", body }: SlackSignature,
  secret: string,
  nowMs: number,
): boolean {
  if (!/^\d{1,12}$/.test(timestamp) || Math.abs(nowMs - Number(timestamp) * 1000) > windowMs) return false;
  const expected = Buffer.from(
    `v0=${createHmac("sha256", secret).update(`v0:${timestamp}:`).update(body).digest("hex")}`,
  );
  const given = Buffer.from(signature);
  return given.length === expected.length && timingSafeEqual(given, expected);
}
