import { createHmac, timingSafeEqual } from "node:crypto";

/** Milliseconds for which the buttons of an opened page work. */
const nonceLifetimeMs = 60 * 60 * 1000;

/** The complete action of a page's button: a nonce for one action is invalid for another. The first part names the kind of page. */
export type NonceBinding = readonly [page: string, ...parts: (string | number)[]];

/**
 * Proves that this page was fetched within the last hour; a request sent without opening the page has no nonce. Format: `<expiry in
 * ms>.<hmac>`.
 */
export function issueNonce(key: Buffer, bound: NonceBinding, nowMs: number): string {
  const expiry = nowMs + nonceLifetimeMs;
  return `${expiry}.${macOf(key, bound, expiry)}`;
}

/** True if the nonce was issued for this action within the last hour. */
export function checkNonce(
  key: Buffer,
  bound: NonceBinding,
  { nonce, nowMs }: { nonce: string; nowMs: number },
): "good" | "expired" | "wrong" {
  const [, digits, mac] = /^(\d{1,16})\.([\w-]{43})$/.exec(nonce) ?? [];
  if (digits === undefined || mac === undefined) return "wrong";
  const expiry = Number(digits);
  if (!timingSafeEqual(Buffer.from(mac), Buffer.from(macOf(key, bound, expiry)))) return "wrong";
  return nowMs < expiry ? "good" : "expired";
}

const macOf = (key: Buffer, bound: NonceBinding, expiry: number): string =>
  createHmac("sha256", key)
    .update(JSON.stringify([...bound, expiry]))
    .digest("base64url");
