import { createHmac, timingSafeEqual } from "node:crypto";
import type { KeyRing } from "#src/platform/secrets/keyRing.ts";

/** Workspace and address whose notification mail an unsubscribe link stops. `address`: spelled as in the mail. */
export type Unsubscribable = { workspaceId: string; address: string };

/**
 * Content of an unsubscribe link's token. `series`: number of the link's series; if a link leaks, all links of its series become invalid,
 * and new links get the next number. `expiresAt`: seconds since 1970.
 */
export type UnsubscribeToken = Unsubscribable & { series: number; expiresAt: number };

const purpose = "stop-service-mail";
const macBytes = 24;

/**
 * Creates the token of an unsubscribe link: its content and a MAC. The token is not stored; it is valid as long as the MAC's key is in the
 * ring.
 */
export function unsubscribeToken(keyRing: Pick<KeyRing, "deriveKeys">, token: UnsubscribeToken): string {
  const { workspaceId, address, series, expiresAt } = token;
  const said = Buffer.from(JSON.stringify([workspaceId, address, series, expiresAt])).toString("base64url");
  return `${said}.${markOf(keyRing.deriveKeys(purpose)[0], said).toString("base64url")}`;
}

/** Returns the content of a token; undefined if no key of this ring made the token. */
export function readUnsubscribeToken(
  keyRing: Pick<KeyRing, "deriveKeys">,
  token: string,
): UnsubscribeToken | undefined {
  const [, said, mark] = /^([\w-]{1,1000})\.([\w-]{32})$/.exec(token) ?? [];
  if (said === undefined || mark === undefined) return undefined;
  const shown = Buffer.from(mark, "base64url");
  if (!keyRing.deriveKeys(purpose).some((key) => timingSafeEqual(markOf(key, said), shown))) return undefined;
  const [workspaceId, address, series, expiresAt] = JSON.parse(Buffer.from(said, "base64url").toString()) as [
    string,
    string,
    number,
    number,
  ];
  return { workspaceId, address, series, expiresAt };
}

const markOf = (key: Buffer, said: string): Buffer =>
  createHmac("sha256", key).update(said).digest().subarray(0, macBytes);
