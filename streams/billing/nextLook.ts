import type { Checkout, Subscription } from "./events.ts";
import { isAlive } from "./planFrom.ts";

const minuteMs = 60_000;
/** What goes on is looked at once a day, whatever the processor says or does not say. */
const daily = 24 * 60 * minuteMs;
/** The processor's own clock may be a little behind, and its renewals take a moment. */
const grace = minuteMs;
/** A period that should have turned and has not: soon, then as long again as it has been late. */
const overdue = 10 * minuteMs;

/**
 * When the subscriptions have to be read again although nobody says anything: when a period, a trial or what was paid for should have ended,
 * when an open checkout has expired, and once a day while one goes on. So what the processor tells and nobody hears is found out all the same.
 * null: nothing of them can change by itself.
 */
export function nextLook(
  { subscriptions, checkout }: { subscriptions: readonly Subscription[]; checkout: Pick<Checkout, "expiresAt"> | null },
  now: Date,
): Date | null {
  const alive = subscriptions.filter(isAlive);
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
