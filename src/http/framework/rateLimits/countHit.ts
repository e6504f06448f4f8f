import { createHash } from "node:crypto";
import type { Response } from "express";
import { Rejected } from "#streams/decider.ts";
import type { HitCounter, Hits } from "./hitCounter.ts";

/** Every limit is one of hits a minute. */
export const windowMs = 60_000;

/** `name`: as the headers have it. `key`: hits under the same key are counted together. `sentence`: what a caller above the limit is told. */
export type Limit = { name: string; most: number; key: string; sentence(seconds: number): string };

/**
 * Counts a hit, and tells the caller in the headers RateLimit and RateLimit-Policy (draft 8) how many are left. Throws Rejected rate_limited for
 * one that is above the limit. Without a response nothing is told.
 */
export async function countHit(counter: HitCounter, limit: Limit, response?: Response): Promise<void> {
  const { name, most, key, sentence } = limit;
  const hits = await counter.hit(key);
  const seconds = secondsUntil(hits);
  if (response && !response.headersSent) {
    response.append("RateLimit", `"${name}"; r=${Math.max(0, most - hits.hits)}; t=${seconds}`);
    response.append("RateLimit-Policy", `"${name}"; q=${most}; w=${windowMs / 1000}; pk=:${partitionOf(key)}:`);
  }
  if (hits.hits > most) throw new Rejected("rate_limited", sentence(seconds), { retryAfter: seconds });
}

/** Seconds until a window ends, by this machine's own clock, as the counter has it. */
export const secondsUntil = ({ resetsAt }: Hits): number =>
  Math.max(1, Math.ceil((resetsAt.getTime() - Date.now()) / 1000));

/** A name for what is counted together that says nothing of it. */
const partitionOf = (key: string): string =>
  Buffer.from(createHash("sha256").update(key).digest("hex").slice(0, 12)).toString("base64");
