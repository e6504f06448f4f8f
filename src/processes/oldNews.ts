import type { Clock } from "#src/platform/clock.ts";

/**
 * Milliseconds after which an event is no longer mailed as news if a process handles it late: after a restore, a long pause or an outage.
 */
const newsForMs = 24 * 3_600_000;

/** Returns true if the event is too old to be mailed as news. `happenedAt`: ISO 8601; if undefined, the event does not count as old. */
export const isOldNews = ({ clock }: { clock: Clock }, happenedAt: string | undefined): boolean =>
  happenedAt !== undefined && clock.now().getTime() - Date.parse(happenedAt) > newsForMs;
