import type { Page, Window } from "#projections/page.ts";

/**
 * The webhook deliveries, event by event: what waits, what was tried and the outcome. Operational rows, made from the log; forgotten 30 days after
 * their end.
 */

export type DeliveryStatus = "pending" | "delivered" | "failed" | "canceled";

/** One try. `response_status` null: there was no answer, and `error` says why. */
export type Attempt = {
  /** ISO 8601. */
  at: string;
  response_status: number | null;
  error: string | null;
  duration_ms: number | null;
};

export type NewDelivery = {
  /** The same for the same event and webhook: told again, nothing changes. */
  id: string;
  webhook_id: string;
  workspace_id: string;
  event_id: string;
  event_type: string;
  /** In order within each webhook and subject, by position and part. */
  subject: string;
  position: number;
  part: number;
  /** The payload as it is sent, byte for byte the same with every try. */
  body: string;
};

/** What is delivered in order. */
export type Queue = { webhookId: string; subject: string };

/** A delivery whose next try has begun. */
export type Begun = Pick<NewDelivery, "id" | "event_id" | "body"> & {
  /** The number of this try, from 1. A try that the service stopped itself does not count; one that ended with its process does. */
  attempt: number;
};

/** What a try leads to. `again`: at the earliest after so many milliseconds. `interrupted`: it does not count. */
export type Verdict =
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
  /** Null if nothing is to come, or if an earlier one of the same draft, thread or domain is still to go. */
  next_attempt_at: Date | null;
  response_status: number | null;
  error: string | null;
  duration_ms: number | null;
  created_at: Date;
  ended_at: Date | null;
  attempt_log: Attempt[];
};

export type WebhookDeliveries = {
  /** Takes deliveries in, and wakes their queues. What is known already stays as it is. */
  add(deliveries: readonly NewDelivery[]): Promise<void>;
  /** Begins a try of the first delivery of a queue that is pending, for the one who works on that queue. Undefined if none is. */
  begin(queue: Queue): Promise<Begun | { dueInMs: number } | undefined>;
  /** Records how a try went. */
  settle(id: string, attempt: Attempt, verdict: Verdict): Promise<void>;
  /** Ends everything that waits for a webhook. */
  cancel(webhookId: string, reason: string): Promise<void>;
  /** Retries at once, whatever the earlier outcome. False if this workspace's webhook has no such delivery. */
  retry(workspaceId: string, webhookId: string, id: string): Promise<boolean>;
  find(workspaceId: string, webhookId: string, id: string): Promise<ShownDelivery | undefined>;
  /** Newest first. */
  list(
    workspaceId: string,
    webhookId: string,
    window: Window & { status?: string | undefined },
  ): Promise<Page<ShownDelivery>>;
};
