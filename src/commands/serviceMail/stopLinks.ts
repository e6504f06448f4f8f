import { createHmac, timingSafeEqual } from "node:crypto";
import type { KeyRing } from "#src/platform/secrets/keyRing.ts";

/** Whose service mail to which address a link stops. `address`: as the mail was sent to it. */
export type Stoppable = { workspaceId: string; address: string };

/** The content of a link's token. `series`: a leaked link ends its series, and the links after it are of the next. `expiresAt`: in seconds since 1970. */
export type StopToken = Stoppable & { series: number; expiresAt: number };

const purpose = "stop-service-mail";
const macBytes = 24;

/** The token of the link that stops such mail: what it stops, and a mark that only this service can make. It is stored nowhere, and works as long as the key that made it is in the ring. */
export function stopToken(keyRing: Pick<KeyRing, "deriveKeys">, token: StopToken): string {
  const { workspaceId, address, series, expiresAt } = token;
  const said = Buffer.from(JSON.stringify([workspaceId, address, series, expiresAt])).toString("base64url");
  return `${said}.${markOf(keyRing.deriveKeys(purpose)[0], said).toString("base64url")}`;
}

/** Reads a token; undefined for one that this ring has not made. */
export function readStopToken(keyRing: Pick<KeyRing, "deriveKeys">, token: string): StopToken | undefined {
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
