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

/** All keys of a workspace together have so many times the rate of one. */
export const keysPerWorkspace = 5;

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
    if (typeof rate === "number" && !limiters.has(limit)) limiters.set(limit, limiterOf(limit, rate, counter));
    return limiters.get(limit);
  };
}

/** Counts a request for its key, and for its workspace unless the key's limit refuses it: a key that does not stop uses up no other key's requests. */
function limiterOf(name: LimitClass, rate: number, counter: HitCounter): RequestHandler {
  const own = limiter({ name, limit: rate, counted: (request, response) => counted(name, request, response) }, counter);
  if (name === "notify") return own;
  const all = limiter(
    {
      name: `${name} of all keys`,
      limit: keysPerWorkspace * rate,
      counted: (_, { locals }) => `workspace ${(locals.apiKey as KeyPrincipal).workspaceId}`,
      skip: (_, { locals }) => locals.apiKey === undefined,
    },
    counter,
  );
  return async (request, response, next) => {
    next((await refusalOf(own, request, response)) ?? (await refusalOf(all, request, response)));
  };
}

type Limiter = {
  name: string;
  limit: number;
  counted(request: Request, response: Response): string;
  skip?(request: Request, response: Response): boolean;
};

function limiter({ name, limit, counted, skip = () => false }: Limiter, counter: HitCounter): RequestHandler {
  return rateLimit({
    windowMs,
    limit,
    skip,
    identifier: name,
    requestPropertyName: propertyOf(name),
    standardHeaders: "draft-8",
    legacyHeaders: false,
    // Looking for a request on the stack has the source maps read: a sixth of the service's start.
    validate: { creationStack: false },
    keyGenerator: (request, response) => `${name} ${counted(request, response)}`,
    store: storeOf(counter),
    async handler(request, _, next) {
      const { resetTime } = (request as unknown as Record<string, { resetTime: Date }>)[propertyOf(name)]!;
      const retryAfter = Math.max(1, Math.ceil((resetTime.getTime() - Date.now()) / 1000));
      const sentence = `rate limit reached: at most ${limit} requests per minute (class ${name}); wait ${retryAfter} s`;
      next(new Rejected("rate_limited", sentence, { retryAfter }));
    },
  });
}

/** The request's property in which the library leaves its count. */
const propertyOf = (name: string): string => `rateLimit ${name}`;

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
