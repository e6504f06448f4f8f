import type { Event } from "../event.ts";

export type QuotaEvent =
  | Event<"QuotaReserved", { reservationId: string }>
  /** Recorded even if nothing was reserved: that id can never be reserved afterwards. */
  | Event<"QuotaReleased", { reservationId: string }>;

/** One stream per workspace, direction and period: all mail of a period is counted in it, so that a cap cannot be exceeded in parallel. */
export const quotaStream = (workspaceId: string, period: string): string => `quota-${workspaceId}-${period}`;
