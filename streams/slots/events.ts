import type { Event } from "../event.ts";

export type SlotsEvent =
  /** `vacated`: holders found to be gone, whose slots are free again. `takenAt` is ISO 8601 UTC. */
  | Event<"SlotTaken", { holderId: string; takenAt: string; vacated: string[] }>
  | Event<"SlotVacated", { holderId: string }>;

export type SlotKind = "apiKeys" | "identities" | "rules" | "webhooks" | "domains";

/** One stream per workspace and kind of capped thing: all creations are counted in it, so that a cap cannot be exceeded in parallel. */
export const slotsStream = (workspaceId: string, kind: SlotKind): string => `slots-${workspaceId}-${kind}`;
