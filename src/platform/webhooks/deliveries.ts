import type { Page, Window } from "#projections/page.ts";

/**
 * Webhook deliveries, one per event and webhook: pending, attempts and outcome. Operational rows derived from the log, deleted 30 days
 * after their end.
 */

export type DeliveryStatus = "pending" | "delivered" | "failed" | "canceled";

/** An attempt to deliver. `response_status` null: there was no answer, and `error` says why. */
export type WebhookAttempt = {
  /** ISO 8601. */
  at: string;
  response_status: number | null;
  error: string | null;
  duration_ms: number | null;
};

export type NewDelivery = {
  /** Id of the delivery, the same for the same event and webhook, so adding it again changes nothing. */
  id: string;
  webhook_id: string;
  workspace_id: string;
  event_id: string;
  event_type: string;
  /** Deliveries are ordered within each webhook and subject, by position and part. */
  subject: string;
  position: number;
  part: number;
  /** Payload as sent, byte for byte the same with every attempt. */
  body: string;
};

/** A queue of deliveries that are sent in order. */
export type DeliveryQueue = { webhookId: string; subject: string };

/** A delivery whose next attempt has begun. */
export type BegunDelivery = Pick<NewDelivery, "id" | "event_id" | "body"> & {
  /** Number of this attempt, from 1. An attempt that the service stopped itself does not count; one that ended with its process does. */
  attempt: number;
};

/** Consequence of an attempt. `again`: not before so many milliseconds. `interrupted`: does not count. */
export type AttemptResult =
  | { status: "delivered" | "failed" }
  | { status: "again"; afterMs: number }
  | { status: "interrupted" };

export type ShownDelivery = {
  id: string;
  webhook_id: string;
  event_id: string;
  event_type: string;
  status: DeliveryStatus;
  attempts: number;
  /** Null if no attempt is to follow, or if an earlier delivery of the same draft, thread or domain is still pending. */
  next_attempt_at: Date | null;
  response_status: number | null;
  error: string | null;
  duration_ms: number | null;
  created_at: Date;
  ended_at: Date | null;
  attempt_log: WebhookAttempt[];
};

export type WebhookDeliveries = {
  /** Adds deliveries and wakes their queues. Known deliveries are not changed. */
  add(deliveries: readonly NewDelivery[]): Promise<void>;
  /** Begins an attempt of the first pending delivery of a queue, for the worker of that queue. Undefined if none is pending. */
  begin(queue: DeliveryQueue): Promise<BegunDelivery | { dueInMs: number } | undefined>;
  /** Records the result of an attempt. */
  settle(id: string, attempt: WebhookAttempt, verdict: AttemptResult): Promise<void>;
  /** Cancels all pending deliveries of a webhook. */
  cancel(webhookId: string, reason: string): Promise<void>;
  /** Retries immediately, whatever the earlier outcome. False if this workspace's webhook has no such delivery. */
  retry(workspaceId: string, webhookId: string, id: string): Promise<boolean>;
  find(workspaceId: string, webhookId: string, id: string): Promise<ShownDelivery | undefined>;
  /** Newest first. */
  list(
    workspaceId: string,
    webhookId: string,
    window: Window & { status?: string | undefined },
  ): Promise<Page<ShownDelivery>>;
};
