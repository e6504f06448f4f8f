import type { Request } from "express";
import { ipKeyGenerator } from "express-rate-limit";
import { LRUCache } from "lru-cache";
import type { Clock } from "#src/platform/clock.ts";
import { Rejected } from "#streams/decider.ts";
import type { HitCounter } from "./hitCounter.ts";

/**
 * Kinds of requests that are counted for unauthenticated clients: with a missing, malformed or unknown key, for links that do not exist,
 * and for documents.
 */
export type UnauthenticatedClass = "bad_key" | "bad_link" | "document";

/** Requests a minute per address by class; a class that is "off" or absent is not limited. */
export type UnauthenticatedRates = { readonly [Class in UnauthenticatedClass]?: number | "off" | undefined };

export type UnauthenticatedLimits = {
  /**
   * Counts a request; throws rate_limited above the rate. Of keys and links only failures may be counted, so that a valid one is never
   * refused for what others do from the same address.
   */
  count(what: UnauthenticatedClass, request: Request): Promise<void>;
};

const maxRemembered = 10_000;

export function createUnauthenticatedLimits(deps: {
  counter: HitCounter;
  rates: UnauthenticatedRates;
  clock: Clock;
}): UnauthenticatedLimits {
  const { counter, rates, clock } = deps;
  /** Addresses above a rate, with the monotonic time until which they are refused without a statement. */
  const over = new LRUCache<string, number>({ max: maxRemembered });

  return {
    async count(what, request) {
      const rate = rates[what];
      if (typeof rate !== "number") return;
      const key = `${what} ip ${addressOf(request)}`;
      const left = (over.get(key) ?? 0) - clock.monotonic();
      if (left > 0) throw tooMany(what, { rate, waitMs: left });
      over.delete(key);
      // If the database cannot be reached, the request is allowed without being counted.
      const hit = await counter.hit(key).catch(() => undefined);
      if (!hit || hit.hits <= rate) return;
      const waitMs = hit.resetsAt.getTime() - Date.now();
      over.set(key, clock.monotonic() + waitMs);
      throw tooMany(what, { rate, waitMs });
    },
  };
}

/** The address that counts as one caller: an IPv4 address, or the /64 network of an IPv6 site. */
export const addressOf = ({ ip = "" }: Request): string => ipKeyGenerator(ip, 64);

function tooMany(what: UnauthenticatedClass, { rate, waitMs }: { rate: number; waitMs: number }): Rejected {
  const retryAfter = Math.max(1, Math.ceil(waitMs / 1000));
  const sentence = `rate limit reached: at most ${rate} such requests per minute from one address (class ${what}); wait ${retryAfter} s`;
  return new Rejected("rate_limited", sentence, { retryAfter });
}
