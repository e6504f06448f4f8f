import type { Static } from "typebox";
import { type ProcessorSubscription, ProcessorUnavailable } from "../paymentProcessor.ts";
import { idOf, type Subscription, timeOf, timeOrNull } from "./answers.ts";
import { boughtWith, type Prices } from "./prices.ts";

/** One of Stripe's subscriptions in our words. Throws ProcessorUnavailable if it has no period. */
export function readSubscription(prices: Prices, given: Static<typeof Subscription>): ProcessorSubscription {
  const { items, trial_end, cancel_at, cancel_at_period_end, cancellation_details } = given;
  // Ours has one item. Somebody may have added others by hand.
  const item = items.data.find(({ price }) => boughtWith(prices, price.id)) ?? items.data[0]!;
  const start = item.current_period_start ?? given.current_period_start;
  const end = item.current_period_end ?? given.current_period_end;
  if (start === undefined || end === undefined)
    throw new ProcessorUnavailable("the payment processor named a subscription without a period");
  const bought = boughtWith(prices, item.price.id);
  return {
    id: given.id,
    customerId: idOf(given.customer)!,
    status: given.status,
    priceId: item.price.id,
    plan: bought?.plan ?? null,
    interval: bought?.interval ?? null,
    periodStart: timeOf(start),
    periodEnd: timeOf(end),
    trialEnd: timeOrNull(trial_end),
    cancelAt: timeOrNull(cancel_at ?? (cancel_at_period_end ? end : null)),
    endedUnpaid: cancellation_details?.reason === "payment_failed",
    createdAt: timeOf(given.created),
  };
}
