import type { Clock } from "#src/platform/clock.ts";

/** What happened longer ago is not mailed as news any more, however late a process comes to it: after a restore, a long pause, an outage. */
const newsForMs = 24 * 3_600_000;

/** `happenedAt`: ISO 8601. Of what does not say when it happened, nothing is known. */
export const isOldNews = ({ clock }: { clock: Clock }, happenedAt: string | undefined): boolean =>
  happenedAt !== undefined && clock.now().getTime() - Date.parse(happenedAt) > newsForMs;
