import { Unavailable } from "#src/eventStore/eventStore.ts";
import type { Plan } from "#streams/workspace/events.ts";

/** The plans that cost something. */
export type PaidPlan = Exclude<Plan, "builder_pack">;
export type Interval = "monthly" | "annual";

/** The processor gave no usable answer: it is down, slow, too busy, or something else answered in its place. Asking again later may help. */
export class ProcessorUnavailable extends Unavailable {
  override readonly name = "ProcessorUnavailable";
}

/** The processor understood and said no, and says no again to the same request. */
export class ProcessorRefused extends Error {
  override readonly name = "ProcessorRefused";
  /** The processor's own word for why, for example `resource_missing`; null where it gave none. */
  readonly code: string | null;
  constructor(message: string, code: string | null) {
    super(message);
    this.code = code;
  }
}

/** One subscription as the processor has it at this moment. Times are ISO. */
export type ProcessorSubscription = {
  id: string;
  customerId: string;
  /** The processor's word: trialing, active, past_due, unpaid, paused, incomplete, incomplete_expired or canceled; perhaps a later one. */
  status: string;
  priceId: string;
  /** By the price alone; null: a price that no setting names. */
  plan: PaidPlan | null;
  interval: Interval | null;
  /** What is paid for, or tried out, at the moment. */
  periodStart: string;
  periodEnd: string;
  trialEnd: string | null;
  /** It ends then unless its customer changes their mind; null: it renews itself. */
  cancelAt: string | null;
  /** True of one that was canceled while its last period was not paid; absent where that is not known. */
  endedUnpaid?: boolean;
  createdAt: string;
};

/** What a checkout came to. "complete": the customer has finished it, and it has a subscription; "expired": nobody can finish it any more. */
export type CheckoutStatus = "open" | "complete" | "expired";

export type CheckoutSession = { customerId: string; status: CheckoutStatus; subscriptionId: string | null };

export type CheckoutRequest = {
  customerId: string;
  workspaceId: string;
  plan: PaidPlan;
  interval: Interval;
  /** null: no trial, the first period is paid at once. */
  trialDays: number | null;
  /** The same request under the same key opens one session, however often it is sent. */
  requestKey: string;
  /** `{CHECKOUT_SESSION_ID}` in it is replaced by the session's id. */
  successUrl: string;
  cancelUrl: string;
};

/** What the processor says happened. It is news and no more: what holds is asked for (subscriptionsOf). */
export type ProcessorEvent = {
  /** The same with every repetition. */
  id: string;
  /** The processor's word, for example `customer.subscription.updated`. */
  type: string;
  createdAt: string;
  /** Whom it is about; null: nobody in particular. */
  customerId: string | null;
  subscriptionId: string | null;
  checkoutSessionId: string | null;
};

/**
 * Who takes the money. Every call ends within 15 seconds, and throws ProcessorUnavailable or ProcessorRefused; neither holds a secret nor what
 * the processor wrote.
 */
export type PaymentProcessor = {
  /**
   * Idempotent by workspace: asked again within a day, it answers with the same customer. `insteadOf`: the workspace's customer that was deleted,
   * in whose place a new one is made.
   */
  createCustomer(of: { workspaceId: string; name: string; insteadOf?: string | null }): Promise<{ customerId: string }>;
  /** Opens a page on which the customer gives a card and starts the subscription. */
  checkout(request: CheckoutRequest): Promise<{ sessionId: string; url: string; expiresAt: string }>;
  /** Nobody can finish it afterwards, unless somebody has already: then "complete". One that is not known counts as expired. */
  expireCheckout(sessionId: string): Promise<Exclude<CheckoutStatus, "open">>;
  /** undefined: there is no such session. */
  checkoutSession(sessionId: string): Promise<CheckoutSession | undefined>;
  /** A page on which the customer changes plan and payment method, and reads invoices. */
  portal(of: { customerId: string; returnUrl: string }): Promise<{ url: string }>;
  /**
   * Ended ones too, newest first; of more than 100 the newest 100. "customer_unknown": there never was such a customer in the account that is asked,
   * which may be another one than before.
   */
  subscriptionsOf(customerId: string): Promise<ProcessorSubscription[] | "customer_deleted" | "customer_unknown">;
  /** Ends it at once and gives back what was paid for it. Asked again, it changes nothing more. */
  cancelAndRefund(subscriptionId: string): Promise<void>;
  /** A call to our webhook: undefined if its signature is not by the processor, is too old, or it is no event. */
  eventIn(call: { body: Buffer; signature: string | undefined }): ProcessorEvent | undefined;
};
