import type { Request, Response } from "express";
import type { KeyPrincipal } from "../principal.ts";
import type { LimitClass } from "../route.ts";
import { countHit } from "./countHit.ts";
import type { HitCounter } from "./hitCounter.ts";
import { addressOf } from "./unauthenticatedLimits.ts";

/** Requests a minute by class; a class that is "off" or absent is not limited. */
export type Rates = { readonly [Class in LimitClass]?: number | "off" | undefined };

/** Rate of all keys of a workspace together, as a multiple of the rate of one key. */
export const keysPerWorkspace = 5;

export type CountedRequest = { request: Request; response: Response; key: KeyPrincipal | undefined };

/** Counts a request of a class. Throws Rejected rate_limited, Unavailable. */
export type CountRequest = (name: LimitClass, counted: CountedRequest) => Promise<void>;

/**
 * Counts a request for its key, and then for its workspace unless the key's limit refuses it: a key above its limit uses up nothing of the
 * workspace's.
 */
export function createLimits({ counter, rates }: { counter: HitCounter; rates: Rates }): CountRequest {
  return async (name, { request, response, key }) => {
    const most = rates[name];
    if (typeof most !== "number") return;
    await countHit(counter, limitOf(name, most, callerOf(name, request, key)), response);
    if (!key || name === "notify") return;
    const ofAll = limitOf(`${name} of all keys`, keysPerWorkspace * most, `workspace ${key.workspaceId}`);
    await countHit(counter, ofAll, response);
  };
}

/** Counts a request to notify a workspace's approvers that no key makes. Throws Rejected rate_limited, Unavailable. */
export function createNotifyLimit({ counter, rates: { notify: most } }: { counter: HitCounter; rates: Rates }) {
  return async (workspaceId: string): Promise<void> => {
    if (typeof most === "number") await countHit(counter, limitOf("notify", most, notifyingOf(workspaceId)));
  };
}

const limitOf = (name: string, most: number, caller: string) => ({
  ...{ name, most, key: `${name} ${caller}` },
  sentence: (seconds: number) =>
    `rate limit reached: at most ${most} requests per minute (class ${name}); wait ${seconds} s`,
});

/** The caller for whom requests are counted: a key; the workspace for notifications; an IP address if there is no key. */
function callerOf(name: LimitClass, request: Request, key: KeyPrincipal | undefined): string {
  if (!key) return `ip ${addressOf(request)}`;
  return name === "notify" ? notifyingOf(key.workspaceId) : `key ${key.id}`;
}

const notifyingOf = (workspaceId: string): string => `workspace ${workspaceId}`;
