import type { Random } from "../../../scripts/support/random.ts";
import type { Action, Bought } from "./subscriptionWorld.ts";

/** The events in a customer's life, with their times: milliseconds since its beginning. */
export type Life = { begins: Date; steps: readonly { at: number; action: Action }[]; ends: number };

const dayMs = 86_400_000;

/** Days after which months have different lengths. */
const beginnings = ["2027-12-31", "2028-01-29", "2028-01-30", "2028-01-31", "2028-02-29", "2028-03-14", "2027-08-31"];

/** Makes a typical customer's life: a first subscription, and what follows it, for some months. */
export function lifeOf(random: Random): Life {
  const plans = ["pro", "agency"] as const;
  const intervals = ["monthly", "monthly", "annual"] as const;
  const bought = (): Bought => ({ plan: random.pick(plans), interval: random.pick(intervals) });
  const subscribe = (): Action => ({
    ...{ does: "subscribe", trial: random.chance(0.6), ...bought() },
    firstPayment: random.pick(["made", "made", "made", "awaited", "never"] as const),
  });
  const anything: (() => Action)[] = [
    subscribe,
    subscribe,
    () => ({ does: "subscribe beside", ...bought() }),
    () => ({ does: "change plan", plan: random.pick(plans) }),
    () => ({ does: "change plan", plan: random.pick(plans) }),
    () => ({ does: "change interval", interval: random.pick(intervals) }),
    () => ({ does: "cancel", when: random.pick(["now", "at the end", "at the end"] as const) }),
    () => ({ does: "take back" }),
    () => ({ does: "next payment fails" }),
    () => ({ does: "trial ends without a card" }),
    () => ({ does: "pay" }),
    () => ({ does: "pay" }),
    () => ({ does: "payment is given up", as: random.pick(["unpaid", "canceled"] as const) }),
  ];
  const begins = new Date(`${random.pick(beginnings)}T${String(random.below(24)).padStart(2, "0")}:17:09.000Z`);
  let at = random.below(3 * dayMs);
  const steps = [{ at, action: subscribe() }];
  for (let left = 2 + random.below(9); left > 0; left--) {
    const { does } = steps.at(-1)!.action;
    // A second subscription is found by the next day, whatever events are lost: until then nothing else happens.
    at += (does === "subscribe beside" ? 3 * dayMs : 0) + random.below(random.pick([1, 12, 40]) * dayMs);
    steps.push({ at, action: random.pick(anything)() });
  }
  return { begins, steps, ends: at + random.below(40 * dayMs) };
}
