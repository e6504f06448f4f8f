import { createHmac, timingSafeEqual } from "node:crypto";
import type { Request } from "express";
import type { Clock } from "#src/platform/clock.ts";
import { bearerOf, isFromLoopback, isToken } from "../framework/trustedCallers.ts";

export type OutboxAccessOptions = {
  /** The operator's token; undefined: no access by token. */
  token: string | undefined;
  /** True: access from this machine needs the token too. */
  production: boolean;
  /** A secret of at least 32 bytes, equal in all instances of the service. */
  cookieKey: Buffer;
  clock: Pick<Clock, "now">;
  /** Counts a wrong token; throws Rejected rate_limited if its sender has tried too many. */
  countWrong?: (request: Request) => Promise<void>;
};

/** Access to caught mail: that is mail of all workspaces, with working approval links. */
export type OutboxAccess = {
  /** True if there is a form to enter the token. */
  hasForm: boolean;
  /** True if the caller may see the caught mail, or could by entering the token. */
  isOffered(request: Request): boolean;
  /** True if the caller may see the caught mail. Throws Rejected rate_limited after too many wrong tokens. */
  mayEnter(request: Request): Promise<boolean>;
  /** The cookie value for the right token, and its lifetime in seconds; undefined for a wrong token. Throws Rejected rate_limited. */
  cookieFor(given: string, request: Request): Promise<{ value: string; maxAge: number } | undefined>;
};

export const cookieName = "countersign_outbox";

/** Seconds. */
const cookieLifetime = 12 * 3_600;

/**
 * In production every access needs the operator's token; elsewhere only access from outside this machine does. The token is sent as Bearer,
 * or by a cookie that the form sets: `<expiry in ms>.<hmac>`, valid only while the token is unchanged.
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
