import type { Request, RequestHandler, Response } from "express";
import { rateLimit, type Store } from "express-rate-limit";
import { Rejected } from "#streams/decider.ts";
import type { KeyPrincipal } from "../principal.ts";
import type { LimitClass } from "../route.ts";
import type { HitCounter } from "./hitCounter.ts";
import { addressOf } from "./strangers.ts";

/** Requests a minute by class; a class that is off, or not named, is not limited. */
export type Rates = { readonly [Class in LimitClass]?: number | "off" | undefined };

export const windowMs = 60_000;

/** What counts the requests of each class, and refuses those over its rate. Undefined for a class without one. */
export function createLimits({
  counter,
  rates,
}: {
  counter: HitCounter;
  rates: Rates;
}): (limit: LimitClass) => RequestHandler | undefined {
  const limiters = new Map<LimitClass, RequestHandler>();
  return (limit) => {
    const rate = rates[limit];
    if (typeof rate === "number" && !limiters.has(limit)) limiters.set(limit, limiter(limit, rate, counter));
    return limiters.get(limit);
  };
}

function limiter(name: LimitClass, limit: number, counter: HitCounter): RequestHandler {
  return rateLimit({
    windowMs,
    limit,
    identifier: name,
    standardHeaders: "draft-8",
    legacyHeaders: false,
    // Looking for a request on the stack has the source maps read: a sixth of the service's start.
    validate: { creationStack: false },
    keyGenerator: (request, response) => `${name} ${counted(name, request, response)}`,
    store: storeOf(counter),
    async handler(request, _, next) {
      const { resetTime } = (request as Request & { rateLimit: { resetTime: Date } }).rateLimit;
      const retryAfter = Math.max(1, Math.ceil((resetTime.getTime() - Date.now()) / 1000));
      const sentence = `rate limit reached: at most ${limit} requests per minute (class ${name}); wait ${retryAfter} s`;
      next(new Rejected("rate_limited", sentence, { retryAfter }));
    },
  });
}

/** Counts a request; what the limiter refuses it with, or undefined. */
export const refusalOf = (limit: RequestHandler, request: Request, response: Response): Promise<unknown> =>
  new Promise((resolve) => void limit(request, response, resolve));

/** Whose requests are counted together: a key's; a workspace's for notifications; an IP address's if there is no key. */
function counted(name: LimitClass, request: Request, { locals }: Response): string {
  const key = locals.apiKey as KeyPrincipal | undefined;
  if (!key) return `ip ${addressOf(request)}`;
  return name === "notify" ? `workspace ${key.workspaceId}` : `key ${key.id}`;
}

const storeOf = (counter: HitCounter): Store => ({
  async increment(key) {
    const { hits, resetsAt } = await counter.hit(key);
    return { totalHits: hits, resetTime: resetsAt };
  },
  decrement: everyRequestCounts,
  resetKey: everyRequestCounts,
});

/** The library calls these to forgive failed requests or to reset a count, which this service never does. */
function everyRequestCounts(): never {
  throw new Error("every request counts");
}
