import type { Event } from "../event.ts";

/** Types of events published to integrators, by webhooks and the event feed. */
export const publicEventTypes = [
  "email.received",
  "email.sent",
  "email.delivered",
  "email.bounced",
  "email.complained",
  "draft.created",
  "draft.updated",
  "draft.approved",
  "draft.rejected",
  "draft.sent",
  "draft.failed",
  "draft.stale",
  "draft.changes_requested",
  "draft.assigned",
  "draft.escalated",
  "thread.merged",
  "domain.verified",
  "domain.lost",
] as const;

export type PublicEventType = (typeof publicEventTypes)[number];

/** Types of events that a webhook may subscribe to. Those that are not public come from no event of the log, so the feed has none. */
export const webhookEventTypes = [...publicEventTypes, "audit.checkpoint"] as const;

export type WebhookEventType = (typeof webhookEventTypes)[number];

export type WebhookStatus = "active" | "disabled";

/** Settings of a webhook. `identityIds` null: events of every identity, and those that belong to none. */
export type WebhookSettings = {
  url: string;
  events: WebhookEventType[];
  identityIds: string[] | null;
  description: string | null;
  status: WebhookStatus;
};

/** `sealed`: the `whsec_…` text under the key ring (src/platform/secrets/keyRing.ts). */
export type WebhookSecret = { id: string; sealed: string };

export type WebhookEvent =
  | Event<"WebhookCreated", WebhookSettings & { workspaceId: string; secret: WebhookSecret }>
  | Event<"WebhookUpdated", { changes: Partial<WebhookSettings> }>
  /** The earlier secret also signs until then (ISO 8601). */
  | Event<"WebhookSecretRotated", { secret: WebhookSecret; previousUntil: string }>
  /** The secrets were sealed again, under another key of the ring. */
  | Event<"WebhookSecretsResealed", { secrets: WebhookSecret[] }>
  /** The service itself stopped delivering, for example because the receiver answered 410. */
  | Event<"WebhookDisabled", { because: string }>
  | Event<"WebhookDeleted", Record<string, never>>;

export const webhookStream = (id: string): string => `webhook-${id}`;
