import { currentPlanLimits } from "../quota/rollOver.ts";
import type { SubscribedPlan, Workspace } from "../workspace/decider.ts";
import type { PlanStatus } from "../workspace/events.ts";
import type { Billing } from "./decider.ts";
import type { Subscription } from "./events.ts";

/**
 * Derives the workspace's plan from a customer's subscriptions. It uses all of their current states and hardly any history, so the result
 * does not depend on the order of notifications.
 */

type Present = Pick<Workspace, "plan" | "planStatus" | "trialEndsAt" | "interval" | "periodsFrom"> &
  Pick<Workspace, "currentPeriodStart" | "currentPeriodEnd">;

export type PlanFound = {
  /** The subscription that the plan follows; null if there is none. */
  followed: string | null;
  /** The new plan; null if it does not change. */
  subscribed: SubscribedPlan | null;
  /** Active subscriptions other than the followed one. */
  seconds: readonly string[];
  /** Unknown price or status of the followed subscription; the plan does not change then. */
  puzzle: "price" | "status" | null;
};

/** Plan status by status of an active subscription. An unpaid or paused subscription is past due, and the plan's limits stay. */
const goingOn: Record<string, PlanStatus> = {
  trialing: "trialing",
  active: "active",
  past_due: "past_due",
  unpaid: "past_due",
  paused: "past_due",
};

const ended = ["canceled", "incomplete_expired"];

/** Status of a subscription that waits for its first payment. Such a subscription does not count yet. */
const unborn = "incomplete";

const isKnownStatus = (status: string): boolean =>
  Object.hasOwn(goingOn, status) || ended.includes(status) || status === unborn;

/** True for a subscription that the customer has, or is about to have. */
export const isCurrentOrStarting = ({ status }: Pick<Subscription, "status">): boolean => !ended.includes(status);

/** True for an active subscription. While there is one, no other subscription is started. */
export const isActiveSubscription = ({ status }: Pick<Subscription, "status">): boolean =>
  Object.hasOwn(goingOn, status);

export function planFromSubscriptions(
  subscriptions: readonly Subscription[],
  { present, billing, now }: { present: Present; billing: Pick<Billing, "followed" | "seconds">; now: Date },
): PlanFound {
  const own = subscriptions.filter(({ id }) => !Object.hasOwn(billing.seconds, id));
  const before = own.find(({ id }) => id === billing.followed);
  if (before && !isKnownStatus(before.status))
    return { followed: before.id, subscribed: null, seconds: [], puzzle: "status" };
  const working = own.filter(isActiveSubscription).sort(oldestSubscription);
  const kept = before && isActiveSubscription(before) ? before : working[0];
  if (kept) {
    const seconds = working.filter((each) => each !== kept).map(({ id }) => id);
    const subscribed = planOf(kept, present, now);
    return { followed: kept.id, subscribed, seconds, puzzle: kept.plan === null ? "price" : null };
  }
  const last = lastPaidFor(own, present);
  if (last) return { followed: last.id, subscribed: endedPlan(last, present, now), seconds: [], puzzle: null };
  const { followed } = billing;
  const isGone = followed !== null && before === undefined && present.periodsFrom === null;
  return { followed, subscribed: isGone ? gonePlan(present, now) : null, seconds: [], puzzle: null };
}

const oldestSubscription = (one: Subscription, other: Subscription): number =>
  one.createdAt === other.createdAt ? (one.id < other.id ? -1 : 1) : one.createdAt < other.createdAt ? -1 : 1;

/** Returns the plan of the price. If the price is unknown, the plan stays and only its times are taken from the subscription. */
function planOf(kept: Subscription, present: Present, now: Date): SubscribedPlan | null {
  const plan = kept.plan ?? currentPlanLimits(present, now);
  if (plan === "builder_pack") return null;
  const { periodStart, periodEnd, trialEnd, cancelAt, interval } = kept;
  const planStatus = goingOn[kept.status] as PlanStatus;
  return {
    plan,
    planStatus,
    trialEndsAt: planStatus === "trialing" ? trialEnd : null,
    currentPeriodStart: periodStart,
    currentPeriodEnd: periodEnd,
    interval,
    renewsAt: cancelAt === null || cancelAt > periodEnd ? periodEnd : null,
  };
}

/**
 * Returns the end of the paid time. A subscription that expired before its first payment was never paid. If a subscription was canceled
 * while its last period was unpaid, the paid time ends where that period began.
 */
function paidUntil({ status, periodStart, periodEnd, endedUnpaid, createdAt }: Subscription): string {
  if (status !== "canceled") return createdAt;
  return endedUnpaid ? periodStart : periodEnd;
}

/**
 * Returns the ended subscription that was paid for longest. If the operator set a plan after a subscription began, the subscription's end
 * does not revert that plan.
 */
function lastPaidFor(own: readonly Subscription[], { periodsFrom }: Present): Subscription | undefined {
  return own
    .filter((each) => !isCurrentOrStarting(each) && (periodsFrom === null || each.createdAt > periodsFrom))
    .sort((one, other) =>
      paidUntil(one) === paidUntil(other) ? oldestSubscription(other, one) : paidUntil(one) > paidUntil(other) ? -1 : 1,
    )[0];
}

/** The free plan, after a canceled one. */
const fallenBack: SubscribedPlan = {
  plan: "builder_pack",
  planStatus: "canceled",
  trialEndsAt: null,
  currentPeriodStart: null,
  currentPeriodEnd: null,
  interval: null,
  renewsAt: null,
};

function endedPlan(last: Subscription, present: Present, now: Date): SubscribedPlan | null {
  const planBefore = currentPlanLimits(present, now);
  if (last.status !== "canceled") return planBefore === "builder_pack" ? fallenBack : null;
  const plan = last.plan ?? planBefore;
  if (plan === "builder_pack" || now >= new Date(paidUntil(last))) return fallenBack;
  const { periodStart, periodEnd, interval } = last;
  return {
    ...fallenBack,
    plan,
    currentPeriodStart: periodStart,
    currentPeriodEnd: periodEnd,
    interval,
  };
}

/** Returns the plan after the followed subscription vanished because its customer was deleted. The paid time is kept. */
function gonePlan({ plan, currentPeriodStart, currentPeriodEnd, interval }: Present, now: Date): SubscribedPlan {
  if (currentPeriodEnd === null || now >= new Date(currentPeriodEnd)) return fallenBack;
  return { ...fallenBack, plan, currentPeriodStart, currentPeriodEnd, interval };
}
