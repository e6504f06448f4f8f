import type { Clock } from "#src/platform/clock.ts";

/**
 * Milliseconds after which an event is no longer mailed as news, however late a process handles it:
 * after a restore, a long pause or an outage.
 */
const newsForMs = 24 * 3_600_000;

/** `happenedAt`: ISO 8601. Events of unknown time never count as old. */
export const isOldNews = ({ clock }: { clock: Clock }, happenedAt: string | undefined): boolean =>
  happenedAt !== undefined && clock.now().getTime() - Date.parse(happenedAt) > newsForMs;
