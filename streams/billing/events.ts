import type { Event } from "../event.ts";
import type { Interval, Plan } from "../workspace/events.ts";

/** Plans that are paid for. */
export type PaidPlan = Exclude<Plan, "builder_pack">;

/** A subscription as last read from the payment processor. Times are ISO 8601. */
export type Subscription = {
  id: string;
  /** Status of the subscription, in the payment processor's words. */
  status: string;
  priceId: string;
  /** Plan of the price; null if no setting named the price. */
  plan: PaidPlan | null;
  interval: Interval | null;
  periodStart: string;
  periodEnd: string;
  trialEnd: string | null;
  /** Time at which the subscription ends; null if it renews. */
  cancelAt: string | null;
  /** True if the subscription was canceled while its last period was unpaid. */
  endedUnpaid: boolean;
  createdAt: string;
};

/** A checkout page of the processor, on which a subscription can be started until it expires (ISO). */
export type Checkout = { sessionId: string; plan: PaidPlan; interval: Interval; expiresAt: string };

export type BillingEvent =
  /** The workspace has a customer at the payment processor; streams/processorCustomer maps it back to the workspace. */
  | Event<"CustomerCreated", { customerId: string }>
  /** The processor has deleted the customer. A new one is created in its place. */
  | Event<"CustomerLost", { customerId: string }>
  /** The subscriptions may have changed since they were last read. */
  | Event<"SubscriptionsAsked", { because: string }>
  /**
   * The subscriptions have changed. `subscriptions`: the active ones, and the one that the plan follows. `trialUsed`: any subscription ever
   * had a trial.
   */
  | Event<
      "SubscriptionsRead",
      { customerId: string; followed: string | null; trialUsed: boolean; subscriptions: Subscription[] }
    >
  /** An additional subscription was started: it is ended at once, and its payments are refunded. */
  | Event<"SecondSubscriptionFound", { subscriptionId: string; kept: string }>
  | Event<"SecondSubscriptionEnded", { subscriptionId: string }>
  /** A new checkout, which replaces the earlier one. */
  | Event<"CheckoutOpened", Checkout>;

/** Stream of a workspace's billing. */
export const billingStream = (workspaceId: string): string => `billing-${workspaceId}`;
