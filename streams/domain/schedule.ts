import type { Domain } from "./domain.ts";

const hourMs = 3_600_000;
/** Milliseconds for which a new domain is checked often, then seldom until it is given up. */
const eagerMs = hourMs;
export const pendingCheckMs = hourMs + 72 * hourMs;

/** Seconds between two checks: of a domain pending in its first hour, of one pending later, of a verified one. */
export type CheckIntervals = readonly [eager: number, patient: number, verified: number];

/** Returns when a domain is checked next without a request; null if not at all. */
export function nextCheckAt(domain: Domain, [eager, patient, verified]: CheckIntervals): Date | null {
  if (!domain.exists || domain.deleted || domain.status === "failed") return null;
  const last = Date.parse(domain.lastCheckedAt ?? domain.pendingSince);
  if (domain.status === "verified") return new Date(last + verified * 1000);
  const young = last - Date.parse(domain.pendingSince) < eagerMs;
  return new Date(last + (young ? eager : patient) * 1000);
}
