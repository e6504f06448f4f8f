import { createHmac, timingSafeEqual } from "node:crypto";
import type { Decision } from "#src/channels/approvalView.ts";

/** How long an opened page can be pressed. */
const nonceLifetimeMs = 60 * 60 * 1000;

/** What a page's button decides about: a nonce for one is none for another. */
export type Pressed = { token: string; decision: Decision; version: number; contentSha256: string };

/** Proof that this very page was fetched not long ago: a blind POST to the link has none. `<expiry, ms>.<hmac>` */
export function issueNonce(key: Buffer, pressed: Pressed, nowMs: number): string {
  const expiry = nowMs + nonceLifetimeMs;
  return `${expiry}.${macOf(key, pressed, expiry)}`;
}

export function checkNonce(
  key: Buffer,
  pressed: Pressed,
  { nonce, nowMs }: { nonce: string; nowMs: number },
): "good" | "expired" | "wrong" {
  const [, digits, mac] = /^(\d{1,16})\.([\w-]{43})$/.exec(nonce) ?? [];
  if (digits === undefined || mac === undefined) return "wrong";
  const expiry = Number(digits);
  if (!timingSafeEqual(Buffer.from(mac), Buffer.from(macOf(key, pressed, expiry)))) return "wrong";
  return nowMs < expiry ? "good" : "expired";
}

function macOf(key: Buffer, { token, decision, version, contentSha256 }: Pressed, expiry: number): string {
  const bound = JSON.stringify(["approval page", token, decision, version, contentSha256, expiry]);
  return createHmac("sha256", key).update(bound).digest("base64url");
}
