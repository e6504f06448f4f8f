import { createHmac, timingSafeEqual } from "node:crypto";

/** How long an opened page can be pressed. */
const nonceLifetimeMs = 60 * 60 * 1000;

/** What a page's button does, in full: a nonce for one is none for another. The first part names the kind of page. */
export type Bound = readonly [page: string, ...parts: (string | number)[]];

/** Proof that this very page was fetched not long ago: a blind POST to its link has none. `<expiry, ms>.<hmac>` */
export function issueNonce(key: Buffer, bound: Bound, nowMs: number): string {
  const expiry = nowMs + nonceLifetimeMs;
  return `${expiry}.${macOf(key, bound, expiry)}`;
}

/** Whether this page issued the nonce for that, and within the last hour. */
export function checkNonce(
  key: Buffer,
  bound: Bound,
  { nonce, nowMs }: { nonce: string; nowMs: number },
): "good" | "expired" | "wrong" {
  const [, digits, mac] = /^(\d{1,16})\.([\w-]{43})$/.exec(nonce) ?? [];
  if (digits === undefined || mac === undefined) return "wrong";
  const expiry = Number(digits);
  if (!timingSafeEqual(Buffer.from(mac), Buffer.from(macOf(key, bound, expiry)))) return "wrong";
  return nowMs < expiry ? "good" : "expired";
}

const macOf = (key: Buffer, bound: Bound, expiry: number): string =>
  createHmac("sha256", key)
    .update(JSON.stringify([...bound, expiry]))
    .digest("base64url");
