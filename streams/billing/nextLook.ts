import type { Subscription } from "./events.ts";
import { isAlive } from "./planFrom.ts";

const minuteMs = 60_000;
/** What goes on is looked at once a day, whatever the processor says or does not say. */
const daily = 24 * 60 * minuteMs;
/** The processor's own clock may be a little behind, and its renewals take a moment. */
const grace = minuteMs;
/** A period that should have turned and has not. */
const overdue = 10 * minuteMs;

/**
 * When the subscriptions have to be read again although nobody says anything: when a period, a trial or what was paid for should have ended,
 * and once a day. So what the processor tells and nobody hears is found out all the same. null: nothing of them can change by itself.
 */
export function nextLook(subscriptions: readonly Subscription[], now: Date): Date | null {
  const alive = subscriptions.filter(isAlive);
  const turns = [
    ...alive.flatMap(({ periodEnd, trialEnd, cancelAt }) => [periodEnd, trialEnd, cancelAt]),
    ...subscriptions.filter(({ status }) => status === "canceled").map(({ periodEnd }) => periodEnd),
  ]
    .filter((time) => time !== null)
    .map((time) => Date.parse(time) + grace)
    .filter((time) => time > now.getTime());
  const isLate = alive.some(({ periodEnd }) => Date.parse(periodEnd) + grace <= now.getTime());
  if (isLate) turns.push(now.getTime() + overdue);
  if (alive.length > 0) turns.push(now.getTime() + daily);
  return turns.length === 0 ? null : new Date(Math.min(...turns));
}
