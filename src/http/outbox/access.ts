import { createHmac, timingSafeEqual } from "node:crypto";
import type { Request } from "express";
import type { Clock } from "#src/platform/clock.ts";
import { bearerOf, isFromLoopback, isToken } from "../framework/insiders.ts";

export type OutboxAccessOptions = {
  /** What callers show; undefined: nobody is let in by one. */
  token: string | undefined;
  /** Then being on this machine is no right. */
  production: boolean;
  /** A secret of at least 32 bytes, the same in every instance of the service. */
  cookieKey: Buffer;
  clock: Pick<Clock, "now">;
  /** Counts a token that is not the right one; throws Rejected rate_limited when its sender has tried too many. */
  countWrong?: (request: Request) => Promise<void>;
};

/** Who may see the caught mail: it holds every workspace's, with live approval links. */
export type OutboxAccess = {
  /** Whether there is a form to type the token into. */
  hasForm: boolean;
  /** Whether the caller may see it, or could by the form. */
  isOffered(request: Request): boolean;
  /** Throws Rejected rate_limited. */
  mayEnter(request: Request): Promise<boolean>;
  /** What a browser is given for the right token, to be shown with every request, and its seconds; undefined for a wrong one. Throws Rejected rate_limited. */
  cookieFor(given: string, request: Request): Promise<{ value: string; maxAge: number } | undefined>;
};

export const cookieName = "countersign_outbox";

/** Seconds. */
const cookieLifetime = 12 * 3_600;

/**
 * In production by the operator's token alone; otherwise from this machine without, and from elsewhere by the token. The token comes as Bearer,
 * or by a cookie that the form has set: `<expiry, ms>.<hmac>`, which holds under this very token and no other.
 */
export function createOutboxAccess(options: OutboxAccessOptions): OutboxAccess {
  const { token, production, cookieKey, clock, countWrong = async () => {} } = options;
  const isAtHome = (request: Request): boolean => !production && isFromLoopback(request);

  const macOf = (expiry: number): string =>
    createHmac("sha256", cookieKey)
      .update(JSON.stringify(["outbox", token, expiry]))
      .digest("base64url");

  function hasCookie({ headers }: Request): boolean {
    const [, digits, mac] = cookie.exec(headers.cookie ?? "") ?? [];
    if (digits === undefined || mac === undefined) return false;
    const expiry = Number(digits);
    return timingSafeEqual(Buffer.from(mac), Buffer.from(macOf(expiry))) && clock.now().getTime() < expiry;
  }

  async function isRight(given: string, request: Request): Promise<boolean> {
    if (token !== undefined && isToken(given, token)) return true;
    await countWrong(request);
    return false;
  }

  return {
    hasForm: token !== undefined,
    isOffered: (request) => token !== undefined || isAtHome(request),
    async mayEnter(request) {
      if (isAtHome(request)) return true;
      if (token === undefined) return false;
      const bearer = bearerOf(request);
      return hasCookie(request) || (bearer !== undefined && (await isRight(bearer, request)));
    },
    async cookieFor(given, request) {
      if (!(await isRight(given, request))) return undefined;
      const expiry = clock.now().getTime() + cookieLifetime * 1000;
      return { value: `${expiry}.${macOf(expiry)}`, maxAge: cookieLifetime };
    },
  };
}

const cookie = new RegExp(`(?:^|; ?)${cookieName}=(\\d{1,16})\\.([\\w-]{43})(?:;|$)`);
