import type { Static } from "typebox";
import { type ProcessorSubscription, ProcessorUnavailable } from "../paymentProcessor.ts";
import { idOf, type Subscription, timeOf, timeOrNull } from "./answers.ts";
import { boughtWith, type Prices } from "./prices.ts";

/** Converts one of Stripe's subscriptions. Throws ProcessorUnavailable if it has no period. */
export function readSubscription(prices: Prices, given: Static<typeof Subscription>): ProcessorSubscription {
  const { items, trial_end, cancel_at, cancel_at_period_end } = given;
  // Our subscriptions have one item. A person may have added others by hand.
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
    endedUnpaid: isUnpaid(given),
    createdAt: timeOf(given.created),
  };
}

/** Reasons of invoices for a period itself, not for a change within it. */
const forPeriods = ["subscription_create", "subscription_cycle"];
const unpaid = ["draft", "open", "uncollectible"];

/**
 * True if an ended subscription's last period was never paid: Stripe gave up collecting, or the subscription was ended before that. In the
 * second case Stripe gives another reason, and the period's invoice is still unpaid.
 */
function isUnpaid({ status, cancellation_details, latest_invoice: invoice }: Static<typeof Subscription>): boolean {
  if (cancellation_details?.reason === "payment_failed") return true;
  if (status !== "canceled" || typeof invoice !== "object" || invoice === null) return false;
  return unpaid.includes(invoice.status ?? "") && forPeriods.includes(invoice.billing_reason ?? "");
}
