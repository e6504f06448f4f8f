import type { Event } from "../event.ts";

export type QuotaEvent =
  | Event<"QuotaReserved", { reservationId: string }>
  /** Recorded even where nothing was reserved: that id can then never be reserved. */
  | Event<"QuotaReleased", { reservationId: string }>;

/** One stream per workspace and period: all sends of a period meet here, so a cap cannot be overrun in parallel. */
export const quotaStream = (workspaceId: string, period: string): string => `quota-${workspaceId}-${period}`;
