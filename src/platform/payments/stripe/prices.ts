import type { PaidPlan } from "#streams/billing/events.ts";
import type { Interval } from "#streams/workspace/events.ts";

/** The price id of each plan and interval. */
export type Prices = Record<PaidPlan, Record<Interval, string>>;

/** Returns the plan and interval of a price; undefined if it is none of ours. */
export function boughtWith(prices: Prices, priceId: string): { plan: PaidPlan; interval: Interval } | undefined {
  for (const plan of ["pro", "agency"] as const)
    for (const interval of ["monthly", "annual"] as const)
      if (prices[plan][interval] === priceId) return { plan, interval };
  return undefined;
}
