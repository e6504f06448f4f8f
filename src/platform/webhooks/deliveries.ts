import type { Page, Window } from "#projections/page.ts";

/**
 * Webhook deliveries, one per event and webhook: pending, attempts and outcome. Operational rows derived from the log, deleted 30 days
 * after their end.
 */

export type DeliveryStatus = "pending" | "delivered" | "failed" | "canceled" | "skipped";

/** Statuses that a delivery gets although it was not sent: its webhook was deleted or disabled, or the service disabled it. */
export type UnsentStatus = Extract<DeliveryStatus, "canceled" | "skipped">;

/** Maximum number of deliveries that one call retries. */
export const maxRetried = 10_000;

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
  /** Why it is stored as skipped; absent if it is to be sent. */
  error?: string;
};

/** Returns the error of a skipped delivery. `because`: why the service disabled the webhook. */
export const skipError = (because: string): string => `the webhook was disabled: ${because}`;

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

/** `response_body`: beginning of the receiver's answer; null if there was none. */
export type AnsweredAttempt = WebhookAttempt & { response_body: string | null };

/** `payload` and `response_body`: what was sent, and the beginning of the answer to the newest attempt. */
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
  payload: Record<string, unknown>;
  response_body: string | null;
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
  settle(id: string, attempt: AnsweredAttempt, verdict: AttemptResult): Promise<void>;
  /** Ends all pending deliveries of a webhook without sending them. */
  endUnsent(webhookId: string, as: { status: UnsentStatus; error: string }): Promise<void>;
  /** Retries immediately, whatever the earlier outcome. False if this workspace's webhook has no such delivery. */
  retry(workspaceId: string, webhookId: string, id: string): Promise<boolean>;
  /**
   * Retries deliveries that ended undelivered and were created in a span of time, both ends included (`to` null: until now); the
   * `maxRetried` oldest at most. Tests are left out. `newest`: creation of the newest one retried.
   */
  retryAll(
    workspaceId: string,
    webhookId: string,
    span: { from: Date; to: Date | null },
  ): Promise<{ retried: number; newest: Date | null }>;
  find(workspaceId: string, webhookId: string, id: string): Promise<ShownDelivery | undefined>;
  /** Newest first. */
  list(
    workspaceId: string,
    webhookId: string,
    window: Window & { status?: string | undefined },
  ): Promise<Page<ShownDelivery>>;
};
