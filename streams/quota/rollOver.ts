import type { PaidPeriod, Plan, PlanStatus, PlanTerms } from "../workspace/events.ts";
import { monthsAfter, wholeMonths } from "./months.ts";

/**
 * Quota roll-over: determines a workspace's period, and so the counters of a mail. A new period means new counters, so nothing is ever
 * reset. Quotas are per month, whatever the paid interval: a paid year has twelve of them.
 */

/** Period of one set of counters; `name` is part of its streams' names. */
export type Period = { name: string; start: Date; end: Date };

/**
 * Stretch of months counted from `start` (ISO). `end` null: until the next stretch. `first`: name of the first month's counters, if they
 * continue those of a month in progress.
 */
export type Stretch = { start: string; end: string | null; first: string | null };

export const lifetime = "lifetime";

/** Facts that determine a workspace's periods. `createdAt`: ISO. */
type PlanFacts = { plan: Plan; planStatus: PlanStatus; createdAt: string } & Pick<
  PaidPeriod & PlanTerms,
  "currentPeriodStart" | "currentPeriodEnd" | "periodsFrom" | "countsOn"
>;

/** All stretches of months of a workspace until now. */
type WithStretches = { stretches: readonly Stretch[] };

/** Returns the plan whose limits apply: a canceled one until the paid period ends, then the free one. */
export function currentPlanLimits(
  workspace: Pick<PlanFacts, "plan" | "planStatus" | "currentPeriodEnd">,
  now: Date,
): Plan {
  const { plan, planStatus, currentPeriodEnd } = workspace;
  const paid = currentPeriodEnd !== null && now < new Date(currentPeriodEnd);
  return planStatus === "canceled" && !paid ? "builder_pack" : plan;
}

/** Returns a workspace's current period; null on the free plan, whose quotas are for its lifetime. */
export function currentPeriod(workspace: PlanFacts, now: Date): Period | null {
  return currentPlanLimits(workspace, now) === "builder_pack" ? null : currentMonth(workspace, now);
}

/** Returns the current month of a plan with periods: the processor's if there is one, else counted from when the operator set the plan. */
export function currentMonth(
  { currentPeriodStart: start, currentPeriodEnd: end, countsOn, periodsFrom, createdAt }: Omit<PlanFacts, "plan">,
  now: Date,
): Period {
  if (start !== null && end !== null) return monthWithin({ start, end, first: countsOn }, now);
  if (periodsFrom !== null) return monthWithin({ start: periodsFrom, end: null, first: null }, now);
  return calendarMonth(createdAt, now);
}

/**
 * Returns the month of a stretch at a time; the first one before it and the last one after it. Months never extend beyond its end, and a
 * remainder that is no whole month belongs to the last one: days of a longer month, or of a trial.
 */
export function monthWithin(stretch: Stretch, now: Date): Period {
  const { start, end, first } = stretch;
  const from = new Date(start);
  const last = end === null ? Number.POSITIVE_INFINITY : monthsIn(from, new Date(end)) - 1;
  const month = Math.max(0, Math.min(wholeMonths(from, now), last));
  return {
    name: nameOfMonth({ start, first }, month),
    start: monthsAfter(from, month),
    end: end !== null && month === last ? new Date(end) : monthsAfter(from, month + 1),
  };
}

const monthsIn = (from: Date, to: Date): number => Math.max(1, wholeMonths(from, to));

/** Returns the month without a payment processor: whole months (UTC) since the workspace was created. */
export function calendarMonth(createdAt: string, now: Date): Period {
  const from = new Date(createdAt);
  const months = wholeMonths(from, now);
  return { name: `month${months}`, start: monthsAfter(from, months), end: monthsAfter(from, months + 1) };
}

/** Returns every period, except the lifetime's, in which mail may have been counted. */
export function earlierPeriods(workspace: WithStretches & { everPaid: boolean; createdAt: string }, now: Date) {
  if (!workspace.everPaid) return [];
  const months = wholeMonths(new Date(workspace.createdAt), now);
  const names = [
    ...Array.from({ length: months + 1 }, (_, month) => `month${month}`),
    ...workspace.stretches.flatMap((stretch) => namesOf(stretch, now)),
  ];
  return [...new Set(names)];
}

/**
 * Returns the names of a stretch's counters: its own, besides the one that its first month may have continued, because an operator may have
 * set the same dates before.
 */
function namesOf({ start, end, first }: Stretch, now: Date): string[] {
  const from = new Date(start);
  const months = end === null ? wholeMonths(from, now) + 1 : monthsIn(from, new Date(end));
  const own = Array.from({ length: Math.max(1, months) }, (_, month) => nameOfMonth({ start, first: null }, month));
  return first === null ? own : [first, ...own];
}

/**
 * Returns the name of a month, which is stored in names of streams. The first month of a stretch has the name that whole periods had before
 * they were counted by months.
 */
function nameOfMonth({ start, first }: Pick<Stretch, "start" | "first">, month: number): string {
  const own = `from${start.replace(/\W/g, "")}`;
  return month === 0 ? (first ?? own) : `${own}month${month}`;
}

/**
 * Returns the counters that a period of the processor continues: those of the month in progress, if it begins within one, so that neither
 * another plan nor another interval resets them. Null: new counters.
 */
export function countersFor(workspace: PlanFacts & WithStretches, start: string): string | null {
  const known = workspace.stretches.find((stretch) => stretch.start === start);
  if (known) return known.first;
  const at = new Date(start);
  const running = currentPeriod(workspace, at) ?? monthBegun(workspace.stretches, at);
  return running !== null && running.start < at && at < running.end ? running.name : null;
}

/** Returns the month that would be in progress if its plan had not ended early, as one that was never paid for does: its counts remain. */
function monthBegun(stretches: readonly Stretch[], at: Date): Period | null {
  const begun = stretches.findLast(({ start, end }) => new Date(start) < at && end !== null && at < new Date(end));
  return begun ? monthWithin(begun, at) : null;
}

/** Adds a stretch, or extends the one with the same start. An earlier one without an end then ends a month after the new start. */
export function withStretch(stretches: readonly Stretch[], next: Stretch): readonly Stretch[] {
  const last = stretches.at(-1);
  if (last?.start === next.start && last.end === next.end && last.first === next.first) return stretches;
  const known = stretches.find(({ start }) => start === next.start);
  if (known) return stretches.map((each) => (each === known ? longer(known, next) : each));
  const until = monthsAfter(new Date(next.start), 1).toISOString();
  return [...stretches.map((each) => (each.end === null ? { ...each, end: until } : each)), next];
}

const longer = (known: Stretch, { end, first }: Stretch): Stretch => ({
  ...known,
  first: known.first ?? first,
  end: known.end === null || end === null ? null : known.end > end ? known.end : end,
});
