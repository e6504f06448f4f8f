import type { Event } from "../event.ts";
import type { Interval, Plan } from "../workspace/events.ts";

export type PaidPlan = Exclude<Plan, "builder_pack">;

/** A subscription as the payment processor had it when it was asked. Times are ISO 8601. */
export type Subscription = {
  id: string;
  /** The processor's word. */
  status: string;
  priceId: string;
  /** By the price alone; null: a price that no setting named. */
  plan: PaidPlan | null;
  interval: Interval | null;
  periodStart: string;
  periodEnd: string;
  trialEnd: string | null;
  /** It ends then; null: it renews itself. */
  cancelAt: string | null;
  /** It was canceled while its last period was not paid. */
  endedUnpaid: boolean;
  createdAt: string;
};

/** A page of the processor's on which a subscription can be started until it expires (ISO). */
export type Checkout = { sessionId: string; plan: PaidPlan; interval: Interval; expiresAt: string };

export type BillingEvent =
  /** The workspace has a customer at the payment processor, which has the way back (streams/processorCustomer). */
  | Event<"CustomerCreated", { customerId: string }>
  /** The processor has deleted it. Another one is made in its place. */
  | Event<"CustomerLost", { customerId: string }>
  /** Somebody has reason to believe that the subscriptions are not what was read last. */
  | Event<"SubscriptionsAsked", { because: string }>
  /**
   * The subscriptions are not what was read last. `subscriptions` are those that go on, and the one that the plan follows. `trialUsed`: one of
   * all there ever were had a trial.
   */
  | Event<
      "SubscriptionsRead",
      { customerId: string; followed: string | null; trialUsed: boolean; subscriptions: Subscription[] }
    >
  /** Beside the one that is kept another one was started: it is ended at once, and what was paid for it is given back. */
  | Event<"SecondSubscriptionFound", { subscriptionId: string; kept: string }>
  | Event<"SecondSubscriptionEnded", { subscriptionId: string }>
  /** It takes the place of the one that was opened before. */
  | Event<"CheckoutOpened", Checkout>;

/** What is known of how a workspace pays. */
export const billingStream = (workspaceId: string): string => `billing-${workspaceId}`;
