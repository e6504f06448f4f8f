import { Unavailable } from "#src/eventStore/eventStore.ts";
import type { PaidPlan } from "#streams/billing/events.ts";
import type { Interval } from "#streams/workspace/events.ts";

/**
 * The processor gave no usable answer: it is down, slow, overloaded, or another server answered in its place. A later retry may succeed.
 */
export class ProcessorUnavailable extends Unavailable {
  override readonly name = "ProcessorUnavailable";
}

/** The processor refused the request, and would refuse the same request again. */
export class ProcessorRefused extends Error {
  override readonly name = "ProcessorRefused";
  /** The processor's own code for the reason, for example `resource_missing`; null if it gave none. */
  readonly code: string | null;
  constructor(message: string, code: string | null) {
    super(message);
    this.code = code;
  }
}

/** The current state of one subscription. Times are ISO. */
export type ProcessorSubscription = {
  id: string;
  customerId: string;
  /**
   * The processor's status: trialing, active, past_due, unpaid, paused, incomplete, incomplete_expired or canceled; later API versions may
   * add others.
   */
  status: string;
  priceId: string;
  /** Plan of the price; null if no setting names the price. */
  plan: PaidPlan | null;
  interval: Interval | null;
  /** Current period, paid or in trial. */
  periodStart: string;
  periodEnd: string;
  trialEnd: string | null;
  /** Time at which it ends unless the customer changes that; null if it renews. */
  cancelAt: string | null;
  /** True if it was canceled while its last period was unpaid; absent if that is not known. */
  endedUnpaid?: boolean;
  createdAt: string;
};

/** State of a checkout. "complete": the customer has finished it, and it has a subscription; "expired": it can no longer be finished. */
export type CheckoutStatus = "open" | "complete" | "expired";

export type CheckoutSession = { customerId: string; status: CheckoutStatus; subscriptionId: string | null };

export type CheckoutRequest = {
  customerId: string;
  workspaceId: string;
  plan: PaidPlan;
  interval: Interval;
  /** Days of trial; null if the first period is paid at once. */
  trialDays: number | null;
  /** Idempotency key: repeating the request under the same key opens one session. */
  requestKey: string;
  /** `{CHECKOUT_SESSION_ID}` in it is replaced by the session's id. */
  successUrl: string;
  cancelUrl: string;
};

/** An event reported by the processor. Only a hint: the current state is queried (subscriptionsOf). */
export type ProcessorEvent = {
  /** Id of the event, the same in every repetition. */
  id: string;
  /** The processor's event type, for example `customer.subscription.updated`. */
  type: string;
  createdAt: string;
  /** Customer concerned; null if none. */
  customerId: string | null;
  subscriptionId: string | null;
  checkoutSessionId: string | null;
};

/**
 * Port of the payment processor. Every call ends within 15 seconds, or throws ProcessorUnavailable or ProcessorRefused, whose messages
 * contain neither secrets nor the processor's own text.
 */
export type PaymentProcessor = {
  /**
   * Creates a customer. Idempotent by workspace: a repeated call within a day returns the same customer. `insteadOf`: the workspace's
   * deleted customer, which the new one replaces.
   */
  createCustomer(of: { workspaceId: string; name: string; insteadOf?: string | null }): Promise<{ customerId: string }>;
  /** Opens a checkout page on which the customer enters a card and starts the subscription. */
  checkout(request: CheckoutRequest): Promise<{ sessionId: string; url: string; expiresAt: string }>;
  /** Expires a checkout, so that it can no longer be finished. "complete" if it already was. An unknown checkout counts as expired. */
  expireCheckout(sessionId: string): Promise<Exclude<CheckoutStatus, "open">>;
  /** Returns a checkout session; undefined if there is no such session. */
  checkoutSession(sessionId: string): Promise<CheckoutSession | undefined>;
  /** Returns a page on which the customer changes plan and payment method, and reads invoices. */
  portal(of: { customerId: string; returnUrl: string }): Promise<{ url: string }>;
  /**
   * Returns the customer's subscriptions, ended ones too, newest first; at most the newest 100. "customer_unknown": the queried account,
   * which may have been changed, never had such a customer.
   */
  subscriptionsOf(customerId: string): Promise<ProcessorSubscription[] | "customer_deleted" | "customer_unknown">;
  /** Ends the subscription immediately and refunds its payments. A repeated call changes nothing. */
  cancelAndRefund(subscriptionId: string): Promise<void>;
  /**
   * Parses a call to our webhook. "forged": its signature is not the processor's, or too old. "not_a_snapshot": the processor signed it, but
   * it is no event that contains its data.
   */
  eventIn(call: { body: Buffer; signature: string | undefined }): ProcessorEvent | "forged" | "not_a_snapshot";
};
