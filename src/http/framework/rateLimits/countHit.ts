import { createHash } from "node:crypto";
import type { Response } from "express";
import { Rejected } from "#streams/decider.ts";
import type { HitCounter, Hits } from "./hitCounter.ts";

/** Window of all limits: one minute. */
export const windowMs = 60_000;

/**
 * `name`: shown in the headers. `most`: maximum hits per window. `key`: hits of equal keys count together. `sentence`: makes the refusal.
 */
export type Limit = { name: string; most: number; key: string; sentence(seconds: number): string };

/**
 * Counts a hit and reports the remaining ones in the headers RateLimit and RateLimit-Policy (draft 8). Throws Rejected rate_limited above
 * the limit. Without a response no headers are set.
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

/** Seconds until the window ends, by this machine's clock, which the counter uses too. */
export const secondsUntil = ({ resetsAt }: Hits): number =>
  Math.max(1, Math.ceil((resetsAt.getTime() - Date.now()) / 1000));

/** A hash of the key, so that the header reveals nothing about it. */
const partitionOf = (key: string): string =>
  Buffer.from(createHash("sha256").update(key).digest("hex").slice(0, 12)).toString("base64");
