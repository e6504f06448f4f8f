import {
  type PaymentProcessor,
  type ProcessorSubscription,
  ProcessorUnavailable,
} from "#src/platform/payments/paymentProcessor.ts";
import type { Interval, Plan, PlanStatus } from "#streams/workspace/events.ts";
import { monthsOn } from "./calendar.ts";

export type Bought = { plan: "pro" | "agency"; interval: Interval };

/** The customer's actions, and events that happen to it. An action that is impossible at that moment changes nothing. */
export type Action =
  | ({ does: "subscribe"; trial: boolean; firstPayment: "made" | "awaited" | "never" } & Bought)
  | ({ does: "subscribe beside" } & Bought)
  | { does: "change plan"; plan: "pro" | "agency" }
  | { does: "change interval"; interval: Interval }
  | { does: "cancel"; when: "now" | "at the end" }
  | { does: "take back" }
  | { does: "next payment fails" }
  | { does: "trial ends without a card" }
  | { does: "pay" }
  | { does: "payment is given up"; as: "unpaid" | "canceled" };

type HeldSubscription = ProcessorSubscription & {
  /** Periods count from this moment. */
  anchor: Date;
  periods: number;
  /** Time of a pending first payment, and whether it is made or expires. */
  firstPayment: { at: Date; made: boolean } | null;
  second: boolean;
};

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const live = ["trialing", "active", "past_due", "unpaid", "paused"];
const open = ["trialing", "active", "past_due", "unpaid"];

export type ProcessorTold = { id: string; type: string; createdAt: string; customerId: string };

/**
 * Our own model of a payment processor with one customer, in its own time: its subscriptions, their changes, and the events about them.
 * It can be unreachable.
 */
export function createSubscriptionWorld({ now, tells }: { now: () => Date; tells: (event: ProcessorTold) => void }) {
  const customerId = "cus_1";
  const held: HeldSubscription[] = [];
  const refunded: string[] = [];
  let away = false;
  let failing = false;
  let withoutCard = false;
  let told = 0;

  const say = (...types: string[]) => {
    for (const type of types) {
      const id = `evt_${++told}`;
      tells({ id, type: type.replace("sub.", "customer.subscription."), createdAt: now().toISOString(), customerId });
    }
  };
  /** Returns the customer's subscription, ignoring any that were started in addition. */
  const main = () => held.find(({ status, second }) => !second && live.includes(status));

  function begin(sub: HeldSubscription, at: Date, status: string): void {
    Object.assign(sub, { status, anchor: at, periods: 0, periodStart: at.toISOString() });
    goOn(sub);
  }
  function goOn(sub: HeldSubscription): void {
    const step = sub.interval === "annual" ? 12 : 1;
    sub.periodStart = monthsOn(sub.anchor, sub.periods * step).toISOString();
    sub.periods += 1;
    sub.periodEnd = monthsOn(sub.anchor, sub.periods * step).toISOString();
    if (sub.cancelAt !== null) sub.cancelAt = sub.periodEnd;
  }

  function add({ plan, interval }: Bought, second: boolean): HeldSubscription {
    const at = now();
    const sub: HeldSubscription = {
      ...{ id: `sub_${held.length + 1}`, customerId, status: "active", priceId: `price_${plan}_${interval}` },
      ...{ plan, interval, periodStart: "", periodEnd: "", trialEnd: null, cancelAt: null },
      ...{ createdAt: at.toISOString(), anchor: at, periods: 0, firstPayment: null, second },
    };
    begin(sub, at, "active");
    held.push(sub);
    return sub;
  }

  function subscribe({ trial, firstPayment, ...bought }: Extract<Action, { does: "subscribe" }>): void {
    if (main() || held.some(({ status }) => status === "incomplete")) return;
    const sub = add(bought, false);
    const isTrial = trial && held.every(({ trialEnd }) => trialEnd === null);
    [failing, withoutCard] = [false, false];
    if (isTrial) {
      sub.status = "trialing";
      sub.trialEnd = sub.periodEnd = new Date(now().getTime() + 30 * dayMs).toISOString();
    } else if (firstPayment !== "made") {
      sub.status = "incomplete";
      const wait = firstPayment === "awaited" ? 2 * hourMs : 23 * hourMs;
      sub.firstPayment = { at: new Date(now().getTime() + wait), made: firstPayment === "awaited" };
    }
    say("checkout.session.completed", "sub.created", "invoice.paid");
  }

  function end(sub: HeldSubscription): void {
    sub.status = "canceled";
    say("sub.deleted");
  }

  function change(sub: HeldSubscription, to: Partial<Bought>): void {
    const interval = to.interval ?? sub.interval;
    const turns = interval !== sub.interval && sub.status !== "trialing";
    Object.assign(sub, to, { priceId: `price_${to.plan ?? sub.plan}_${interval}` });
    if (turns) begin(sub, now(), sub.status);
    say("sub.updated", "invoice.paid");
  }

  const actions: { [Does in Action["does"]]: (action: Extract<Action, { does: Does }>) => void } = {
    subscribe,
    "subscribe beside": ({ plan, interval }) => {
      const first = main();
      // Only while the first one surely lasts until the second is found.
      if (!first || Date.parse(first.periodEnd) - now().getTime() < 5 * dayMs) return;
      add({ plan, interval }, true);
      say("checkout.session.completed", "sub.created", "invoice.paid");
    },
    "change plan": ({ plan }) => void (main() && open.includes(main()!.status) && change(main()!, { plan })),
    "change interval": ({ interval }) => {
      const sub = main();
      if (sub && open.includes(sub.status) && sub.interval !== interval) change(sub, { interval });
    },
    cancel({ when }) {
      const sub = main();
      if (!sub) return;
      if (when === "now" || sub.status === "paused") return end(sub);
      sub.cancelAt = sub.periodEnd;
      say("sub.updated");
    },
    "take back"() {
      const sub = main();
      if (!sub || sub.cancelAt === null) return;
      sub.cancelAt = null;
      say("sub.updated");
    },
    "next payment fails"() {
      failing = true;
    },
    "trial ends without a card"() {
      withoutCard = true;
    },
    pay() {
      const sub = main();
      failing = false;
      if (!sub || !["past_due", "unpaid", "paused"].includes(sub.status)) return;
      if (sub.status === "paused") begin(sub, now(), "active");
      sub.status = "active";
      say("invoice.paid", "sub.updated");
    },
    "payment is given up"({ as }) {
      const sub = main();
      if (sub?.status !== "past_due") return;
      if (as === "canceled") {
        sub.endedUnpaid = true;
        end(sub);
      } else {
        sub.status = "unpaid";
        say("sub.updated");
      }
    },
  };

  /** Handles the end of a period, or the outcome of a first payment. */
  function turn(sub: HeldSubscription): void {
    if (sub.firstPayment) {
      payFirst(sub, sub.firstPayment);
    } else if (sub.cancelAt !== null) {
      end(sub);
    } else if (sub.status === "trialing" && withoutCard) {
      sub.status = "paused";
      say("sub.paused");
    } else {
      renew(sub);
    }
  }

  function payFirst(sub: HeldSubscription, { made }: { made: boolean }): void {
    sub.firstPayment = null;
    if (made) begin(sub, now(), "active");
    else sub.status = "incomplete_expired";
    say("sub.updated", made ? "invoice.paid" : "sub.deleted");
  }

  function renew(sub: HeldSubscription): void {
    if (sub.status === "trialing") begin(sub, now(), failing ? "past_due" : "active");
    else goOn(sub);
    if (failing && sub.status === "active") sub.status = "past_due";
    say("sub.updated", failing ? "invoice.payment_failed" : "invoice.paid");
  }

  const dueOf = ({ status, firstPayment, periodEnd }: HeldSubscription): number => {
    if (firstPayment) return firstPayment.at.getTime();
    return open.includes(status) ? Date.parse(periodEnd) : Number.POSITIVE_INFINITY;
  };

  const payments = {
    async createCustomer() {
      return { customerId };
    },
    async subscriptionsOf() {
      if (away) throw new ProcessorUnavailable("the payment processor is away");
      return held.map(({ anchor: _, periods: __, firstPayment: ___, second: ____, ...sub }) => ({ ...sub })).reverse();
    },
    async cancelAndRefund(id: string) {
      if (away) throw new ProcessorUnavailable("the payment processor is away");
      const sub = held.find((each) => each.id === id)!;
      if (!refunded.includes(id)) refunded.push(id);
      if (live.includes(sub.status)) end(sub);
    },
  } as Partial<PaymentProcessor> as PaymentProcessor;

  return {
    payments,
    refunded: refunded as readonly string[],
    seconds: () => held.filter(({ second }) => second).map(({ id }) => id),
    setAway(is: boolean) {
      away = is;
    },
    act: (action: Action) => (actions[action.does] as (action: Action) => void)(action),
    /** Returns when something happens by itself next, in milliseconds. */
    due: () => Math.min(Number.POSITIVE_INFINITY, ...held.map(dueOf)),
    turn() {
      for (const sub of held) if (dueOf(sub) <= now().getTime()) turn(sub);
    },
    /** Returns the plan and status that the customer is entitled to now, by what they bought and paid. */
    truth() {
      const planStatusOf: Record<string, PlanStatus> = { trialing: "trialing", active: "active" };
      const sub = main();
      if (sub) return { sub, plan: sub.plan as Plan, status: planStatusOf[sub.status] ?? "past_due" };
      const over = held.filter(({ second, status }) => !second && status !== "incomplete");
      const paid = over.filter(
        ({ status, periodEnd, endedUnpaid }) => status === "canceled" && !endedUnpaid && new Date(periodEnd) > now(),
      );
      const longest = paid.sort((one, other) => other.periodEnd.localeCompare(one.periodEnd))[0];
      if (longest) return { sub: longest, plan: longest.plan as Plan, status: "canceled" as const };
      return {
        sub: null,
        plan: "builder_pack" as Plan,
        status: over.length > 0 ? ("canceled" as const) : ("active" as const),
      };
    },
  };
}

export type SubscriptionWorld = ReturnType<typeof createSubscriptionWorld>;
