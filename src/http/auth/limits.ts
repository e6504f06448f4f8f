import { createHash } from "node:crypto";
import type { Request, Response } from "express";
import { ipKeyGenerator } from "express-rate-limit";
import { countHit } from "../framework/rateLimits/countHit.ts";
import type { ForgivingCounter } from "../framework/rateLimits/hitCounter.ts";
import { addressOf } from "../framework/rateLimits/strangers.ts";

/** What is counted together, and how often a minute: the contract's numbers, unless the operator has set one for all. */
export const authRates = { sign_up: 5, password_reset: 5, sign_in: 10, session: 60, account: 20 } as const;

export type AuthClass = keyof typeof authRates;

export type AuthLimits = {
  /** Counts a request of one address of the internet, and says how many are left. Throws Rejected rate_limited. */
  count(name: AuthClass, request: Request, response: Response): Promise<void>;
  /**
   * Does `work`, which tells whether somebody knows a secret of this account. Only what `isWrong` says of its error counts, and only together with
   * what came from the same part of the internet: nobody is kept out of their account by what others try from elsewhere. Throws rate_limited.
   */
  guarding<T>(
    account: string,
    request: Request,
    guess: { work(): Promise<T>; isWrong(error: unknown): boolean },
  ): Promise<T>;
};

/** `rate`: the operator's number for each class; undefined: the contract's. */
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
      // Taken before the work: of many guesses at once, no more than these are looked at.
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

/** The part of the internet that an address belongs to: what one provider gives to neighbours. */
function blockOf({ ip = "" }: Request): string {
  const four = /^(?:::ffff:)?(\d+\.\d+\.\d+)\.\d+$/.exec(ip);
  return four ? `${four[1]}.0/24` : ipKeyGenerator(ip, 48);
}
