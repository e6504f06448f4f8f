import { createHash } from "node:crypto";
import type { Request, Response } from "express";
import { ipKeyGenerator } from "express-rate-limit";
import { countHit } from "../framework/rateLimits/countHit.ts";
import type { ForgivingCounter } from "../framework/rateLimits/hitCounter.ts";
import { addressOf } from "../framework/rateLimits/unauthenticatedLimits.ts";

/** Requests a minute per class, as in the contract, unless the operator has set one number for all. */
export const authRates = { sign_up: 5, password_reset: 5, sign_in: 10, session: 60, account: 20 } as const;

export type AuthClass = keyof typeof authRates;

export type AuthLimits = {
  /** Counts a request of an IP address, and reports in the headers how many are left. Throws Rejected rate_limited. */
  count(name: AuthClass, request: Request, response: Response): Promise<void>;
  /**
   * Runs `work`, which reveals whether the caller knows a secret of this account. Only errors for which `isWrong` returns true count, and
   * only per account and IP network, so that attempts from elsewhere lock nobody out. Throws rate_limited.
   */
  guarding<T>(
    account: string,
    request: Request,
    guess: { work(): Promise<T>; isWrong(error: unknown): boolean },
  ): Promise<T>;
};

/** `rate`: requests a minute that the operator has set for every class; undefined: the rates of the contract. */
export function createAuthLimits({
  counter,
  rate,
}: {
  counter: ForgivingCounter;
  rate: number | "off" | undefined;
}): AuthLimits {
  const rateOf = (name: AuthClass): number | undefined => {
    if (rate === "off") return undefined;
    return rate ?? authRates[name];
  };

  return {
    async count(name, request, response) {
      const limit = rateOf(name);
      if (limit === undefined) return;
      const key = `auth ${name} ip ${addressOf(request)}`;
      await countHit(counter, { name: "auth", most: limit, key, sentence }, response);
    },
    async guarding(account, request, { work, isWrong }) {
      const limit = rateOf("sign_in");
      if (limit === undefined) return work();
      const sha256 = createHash("sha256").update(account.toLowerCase()).digest("hex");
      const key = `auth wrong ${sha256} from ${blockOf(request)}`;
      // Count before the work, so that of many simultaneous guesses only `limit` are checked.
      await countHit(counter, { name: "auth", most: limit, key, sentence });
      try {
        const done = await work();
        await counter.forgive(key);
        return done;
      } catch (error) {
        if (!isWrong(error)) await counter.forgive(key);
        throw error;
      }
    },
  };
}

const sentence = (seconds: number): string => `too many attempts: wait ${seconds} s, and try again`;

/** The network that an address belongs to: /24 for IPv4, /48 for IPv6. */
function blockOf({ ip = "" }: Request): string {
  const four = /^(?:::ffff:)?(\d+\.\d+\.\d+)\.\d+$/.exec(ip);
  return four ? `${four[1]}.0/24` : ipKeyGenerator(ip, 48);
}
