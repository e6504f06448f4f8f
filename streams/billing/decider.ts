import type { Decider } from "../decider.ts";
import { stream } from "../stream.ts";
import { unreachable } from "../unreachable.ts";
import { type BillingEvent, billingStream, type Checkout, type Subscription } from "./events.ts";

export type Billing = {
  /** The processor's customer; null if there is none yet, or it was deleted. */
  customerId: string | null;
  /** The customer that was deleted last. */
  lostCustomerId: string | null;
  /** Subscriptions as last read: the active ones, and the one that is followed. */
  subscriptions: readonly Subscription[];
  /** The subscription that the plan follows. */
  followed: string | null;
  /** True once a trial was used. A trial is offered only once. */
  trialUsed: boolean;
  /** Number of reads with changes: a result read before the latest one is outdated. */
  reads: number;
  /** Additional subscriptions, started while another one was active. */
  seconds: Readonly<Record<string, "to be ended" | "ended">>;
  checkout: Checkout | null;
};

export type BillingCommand =
  | { type: "KeepCustomer"; customerId: string }
  | { type: "LoseCustomer"; customerId: string }
  | { type: "AskForSubscriptions"; because: string }
  /** Changes nothing if `basedOn` is not the state's `reads`, or of another customer: something newer was read meanwhile. */
  | {
      type: "RecordSubscriptions";
      basedOn: number;
      read: Extract<BillingEvent, { type: "SubscriptionsRead" }>["data"];
      seconds: readonly string[];
    }
  | { type: "EndSecondSubscription"; subscriptionId: string }
  /** Changes nothing if a checkout other than the one it `replaces` (a session's id) was opened meanwhile. */
  | { type: "OpenCheckout"; checkout: Checkout; replaces: string | null };

const initial: Billing = {
  customerId: null,
  lostCustomerId: null,
  subscriptions: [],
  followed: null,
  trialUsed: false,
  reads: 0,
  seconds: {},
  checkout: null,
};

function evolve(billing: Billing, event: BillingEvent): Billing {
  switch (event.type) {
    case "CustomerCreated":
      return { ...billing, customerId: event.data.customerId };
    case "CustomerLost":
      return { ...billing, customerId: null, lostCustomerId: event.data.customerId, checkout: null };
    case "SubscriptionsAsked":
      return billing;
    case "SubscriptionsRead": {
      const { subscriptions, followed, trialUsed } = event.data;
      return { ...billing, subscriptions, followed, trialUsed, reads: billing.reads + 1 };
    }
    case "SecondSubscriptionFound":
      return { ...billing, seconds: { ...billing.seconds, [event.data.subscriptionId]: "to be ended" } };
    case "SecondSubscriptionEnded":
      return { ...billing, seconds: { ...billing.seconds, [event.data.subscriptionId]: "ended" } };
    case "CheckoutOpened":
      return { ...billing, checkout: event.data };
    default:
      return unreachable(event);
  }
}

function decide(command: BillingCommand, billing: Billing): BillingEvent[] {
  const { customerId } = billing;
  switch (command.type) {
    case "KeepCustomer":
      if (customerId !== null || command.customerId === billing.lostCustomerId) return [];
      return [{ type: "CustomerCreated", data: { customerId: command.customerId } }];
    case "LoseCustomer":
      return customerId === command.customerId ? [{ type: "CustomerLost", data: { customerId } }] : [];
    case "AskForSubscriptions":
      return customerId === null ? [] : [{ type: "SubscriptionsAsked", data: { because: command.because } }];
    case "RecordSubscriptions":
      return recordSubscriptions(command, billing);
    case "EndSecondSubscription": {
      const { subscriptionId } = command;
      if (billing.seconds[subscriptionId] !== "to be ended") return [];
      return [{ type: "SecondSubscriptionEnded", data: { subscriptionId } }];
    }
    case "OpenCheckout":
      if ((billing.checkout?.sessionId ?? null) !== command.replaces) return [];
      return [{ type: "CheckoutOpened", data: command.checkout }];
    default:
      return unreachable(command);
  }
}

function recordSubscriptions(
  { basedOn, read, seconds }: Extract<BillingCommand, { type: "RecordSubscriptions" }>,
  billing: Billing,
): BillingEvent[] {
  if (basedOn !== billing.reads || read.customerId !== billing.customerId) return [];
  const { followed } = read;
  const trialUsed = billing.trialUsed || read.trialUsed;
  const events: BillingEvent[] = [];
  if (asText({ ...read, trialUsed }) !== asText(billing))
    events.push({ type: "SubscriptionsRead", data: { ...read, trialUsed } });
  for (const subscriptionId of seconds) {
    if (followed === null || Object.hasOwn(billing.seconds, subscriptionId)) continue;
    events.push({ type: "SecondSubscriptionFound", data: { subscriptionId, kept: followed } });
  }
  return events;
}

/** Serialises facts in a fixed order: a log may store the fields of an event in another order. */
const asText = ({ followed, trialUsed, subscriptions }: Pick<Billing, "followed" | "trialUsed" | "subscriptions">) =>
  JSON.stringify([
    followed,
    trialUsed,
    subscriptions.map(
      ({ id, status, priceId, plan, interval, periodStart, periodEnd, trialEnd, cancelAt, endedUnpaid, createdAt }) => [
        ...[id, status, priceId, plan, interval, periodStart, periodEnd, trialEnd, cancelAt, endedUnpaid, createdAt],
      ],
    ),
  ]);

export const billingDecider: Decider<Billing, BillingCommand, BillingEvent> = {
  category: "billing",
  initial,
  evolve,
  decide,
};

export const billings = stream({ decider: billingDecider, name: billingStream });
