import type { Event } from "../event.ts";

export type QuotaEvent =
  | Event<"QuotaReserved", { reservationId: string }>
  /** Recorded even if nothing was reserved: that id can then never be reserved. */
  | Event<"QuotaReleased", { reservationId: string }>;

/** One stream per workspace, direction and period: all mail of a period meets here, so that a cap cannot be overrun in parallel. */
export const quotaStream = (workspaceId: string, period: string): string => `quota-${workspaceId}-${period}`;
