import type { Event } from "../event.ts";

export type SlotsEvent =
  /** `vacated`: holders found to be gone, whose slots are free again from here on. `takenAt` is ISO 8601 UTC. */
  | Event<"SlotTaken", { holderId: string; takenAt: string; vacated: string[] }>
  | Event<"SlotVacated", { holderId: string }>;

export type SlotKind = "apiKeys" | "identities" | "rules" | "webhooks" | "domains";

/** One stream per workspace and kind of thing that is capped: all creations meet here, so that a cap cannot be overrun in parallel. */
export const slotsStream = (workspaceId: string, kind: SlotKind): string => `slots-${workspaceId}-${kind}`;
