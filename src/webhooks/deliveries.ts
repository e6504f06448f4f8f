import type { Page, Window } from "#projections/page.ts";

/** The webhook deliveries, event by event: what waits, what was tried and the outcome. Operational rows, made from the log. */

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

/** A delivery in hand, its next try begun: no other instance works on its webhook's subject until the lease expires. */
export type Claim = NewDelivery & {
  lease: string;
  /** This try's number, from 1. */
  attempts: number;
  /** The tries before. */
  tries: Attempt[];
  started_at: Date;
};

/** How many tries of a webhook are under way here. */
export type Busy = { webhook_id: string; workspace_id: string; count: number };

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
  /** Takes deliveries in. What is known already stays as it is. */
  add(deliveries: readonly NewDelivery[]): Promise<void>;
  /** Whether there may be something to claim, of other webhooks than these: a cheap look for who has nothing to do most of the time. */
  areDue(exceptOf: readonly string[]): Promise<boolean>;
  /**
   * Takes the next of up to `limit` subjects that are due, together with what is `busy` at most `perWebhook` of one webhook and `perWorkspace`
   * of one workspace. The workspace with the fewest in hand comes first.
   */
  claim(limits: { limit: number; perWebhook: number; perWorkspace: number; busy: readonly Busy[] }): Promise<Claim[]>;
  /** Records how a try went. The next of the subject is due at once if this one is over. */
  settle(claim: Claim, attempt: Attempt, verdict: Verdict): Promise<void>;
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
  /** Forgets what ended more than 30 days ago. */
  prune(): Promise<void>;
};
