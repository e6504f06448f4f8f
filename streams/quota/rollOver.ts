import type { PaidPeriod, Plan, PlanStatus, PlanTerms } from "../workspace/events.ts";
import { monthsAfter, wholeMonths } from "./months.ts";

/**
 * Quota roll-over: which period a workspace is in, and so which counters a mail counts on. A new period means new counters, so nothing is
 * ever reset. Quotas are per month, whatever is paid for: a year that is paid for has twelve of them.
 */

/** What one set of counters belongs to; `name` is part of its streams' names. */
export type Period = { name: string; start: Date; end: Date };

/**
 * Months that count from `start` (ISO). `end` null: until something else begins. `first` is the name of the first one's counters, where they
 * are those of a month that was under way.
 */
export type Stretch = { start: string; end: string | null; first: string | null };

export const lifetime = "lifetime";

/** What a workspace's periods follow from. `createdAt`: ISO. */
type Planned = { plan: Plan; planStatus: PlanStatus; createdAt: string } & Pick<
  PaidPeriod & PlanTerms,
  "currentPeriodStart" | "currentPeriodEnd" | "periodsFrom" | "countsOn"
>;

/** All that ever divided a workspace's time into months. */
type Divided = { stretches: readonly Stretch[] };

/** The plan whose limits hold: a canceled one until the paid period ends, the free one from then on. */
export function planNow(workspace: Pick<Planned, "plan" | "planStatus" | "currentPeriodEnd">, now: Date): Plan {
  const { plan, planStatus, currentPeriodEnd } = workspace;
  const paid = currentPeriodEnd !== null && now < new Date(currentPeriodEnd);
  return planStatus === "canceled" && !paid ? "builder_pack" : plan;
}

/** The period a workspace is in; null on the free plan, whose quotas are for its whole life. */
export function periodNow(workspace: Planned, now: Date): Period | null {
  return planNow(workspace, now) === "builder_pack" ? null : monthOf(workspace, now);
}

/** The month of a plan with periods. The processor's come first, then those from where the operator set the plan. */
export function monthOf(
  { currentPeriodStart: start, currentPeriodEnd: end, countsOn, periodsFrom, createdAt }: Omit<Planned, "plan">,
  now: Date,
): Period {
  if (start !== null && end !== null) return monthWithin({ start, end, first: countsOn }, now);
  if (periodsFrom !== null) return monthWithin({ start: periodsFrom, end: null, first: null }, now);
  return calendarMonth(createdAt, now);
}

/**
 * The month of a stretch at a time, the first one before it and the last one after it. Months never go beyond its end, and what is left at
 * the end and is no whole month belongs to the last one: days of a month that is longer, or a trial's.
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

/** Without a payment processor: whole months (UTC) since the workspace was created. */
export function calendarMonth(createdAt: string, now: Date): Period {
  const from = new Date(createdAt);
  const months = wholeMonths(from, now);
  return { name: `month${months}`, start: monthsAfter(from, months), end: monthsAfter(from, months + 1) };
}

/** Every period, but for the lifetime's, in which something may ever have been counted. */
export function earlierPeriods(workspace: Divided & { everPaid: boolean; createdAt: string }, now: Date) {
  if (!workspace.everPaid) return [];
  const months = wholeMonths(new Date(workspace.createdAt), now);
  const names = [
    ...Array.from({ length: months + 1 }, (_, month) => `month${month}`),
    ...workspace.stretches.flatMap((stretch) => namesOf(stretch, now)),
  ];
  return [...new Set(names)];
}

/** Its own names beside the one that its first month may have taken over: an operator may have set the same dates before. */
function namesOf({ start, end, first }: Stretch, now: Date): string[] {
  const from = new Date(start);
  const months = end === null ? wholeMonths(from, now) + 1 : monthsIn(from, new Date(end));
  const own = Array.from({ length: Math.max(1, months) }, (_, month) => nameOfMonth({ start, first: null }, month));
  return first === null ? own : [first, ...own];
}

/** Stored in the names of streams. The first month of a stretch has the name that whole periods had before they were counted by months. */
function nameOfMonth({ start, first }: Pick<Stretch, "start" | "first">, month: number): string {
  const own = `from${start.replace(/\W/g, "")}`;
  return month === 0 ? (first ?? own) : `${own}month${month}`;
}

/**
 * The counters that a period of the processor's goes on with: those of the month under way, where it begins within one, so that neither
 * another plan nor another interval brings new ones. null: counters of its own.
 */
export function countersFor(workspace: Planned & Divided, start: string): string | null {
  const known = workspace.stretches.find((stretch) => stretch.start === start);
  if (known) return known.first;
  const at = new Date(start);
  const running = periodNow(workspace, at) ?? monthBegun(workspace.stretches, at);
  return running !== null && running.start < at && at < running.end ? running.name : null;
}

/** The month that would be under way if its plan had not ended early, as one that was never paid for does: what was counted in it stays counted. */
function monthBegun(stretches: readonly Stretch[], at: Date): Period | null {
  const begun = stretches.findLast(({ start, end }) => new Date(start) < at && end !== null && at < new Date(end));
  return begun ? monthWithin(begun, at) : null;
}

/** With one more. That of the same start is the same one, however far it goes now; one without an end goes on for a month at most. */
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
