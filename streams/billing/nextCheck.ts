import type { Checkout, Subscription } from "./events.ts";
import { isCurrentOrStarting } from "./planFrom.ts";

const minuteMs = 60_000;
/** Milliseconds between reads of active subscriptions, whatever the processor reports. */
const daily = 24 * 60 * minuteMs;
/** Milliseconds of tolerance: the processor's clock may be slow, and its renewals take a moment. */
const grace = minuteMs;
/**
 * Milliseconds to the first retry for a period that should have been renewed. Each later wait is as long as the renewal has been overdue.
 */
const overdue = 10 * minuteMs;

/**
 * Returns when the subscriptions must be read again without any notification: when a period, a trial or a paid time should have ended,
 * when an open checkout has expired, and once a day while one is active. So a lost notification does no lasting harm. Returns null if
 * nothing can change without a notification.
 */
export function nextSubscriptionCheck(
  { subscriptions, checkout }: { subscriptions: readonly Subscription[]; checkout: Pick<Checkout, "expiresAt"> | null },
  now: Date,
): Date | null {
  const alive = subscriptions.filter(isCurrentOrStarting);
  const ends = [
    ...alive.flatMap(({ periodEnd, trialEnd, cancelAt }) => [periodEnd, trialEnd, cancelAt]),
    ...subscriptions.filter(({ status }) => status === "canceled").map(({ periodEnd }) => periodEnd),
    checkout?.expiresAt ?? null,
  ];
  const turns = ends.filter((time) => time !== null).map((time) => Date.parse(time) + grace);
  const looks = turns.filter((time) => time > now.getTime());
  for (const { periodEnd } of alive) {
    const late = now.getTime() - Date.parse(periodEnd) - grace;
    if (late >= 0) looks.push(now.getTime() + Math.max(overdue, late));
  }
  if (alive.length > 0) looks.push(now.getTime() + daily);
  return looks.length === 0 ? null : new Date(Math.min(...looks));
}
