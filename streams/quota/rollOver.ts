import type { Workspace } from "../workspace/decider.ts";
import type { Plan } from "../workspace/events.ts";

/**
 * Quota roll-over: which period a workspace is in, and so which counters a mail counts on. A new period means new counters, so nothing is
 * ever reset.
 */

/** What one set of counters belongs to; `name` is part of its streams' names. */
export type Period = { name: string; start: Date; end: Date };

export const lifetime = "lifetime";

type Planned = Pick<Workspace, "plan" | "planStatus" | "createdAt" | "currentPeriodStart" | "currentPeriodEnd">;

/** The plan whose limits hold: a canceled one until the paid period ends, the free one from then on. */
export function planNow(workspace: Pick<Planned, "plan" | "planStatus" | "currentPeriodEnd">, now: Date): Plan {
  const { plan, planStatus, currentPeriodEnd } = workspace;
  const paid = currentPeriodEnd !== null && now < new Date(currentPeriodEnd);
  return planStatus === "canceled" && !paid ? "builder_pack" : plan;
}

/** The period a workspace is in; null on the free plan, whose quotas are for its whole life. */
export function periodNow(workspace: Planned, now: Date): Period | null {
  if (planNow(workspace, now) === "builder_pack") return null;
  const { currentPeriodStart, currentPeriodEnd, createdAt } = workspace;
  if (currentPeriodStart !== null && currentPeriodEnd !== null) {
    return {
      name: nameOfStart(currentPeriodStart),
      start: new Date(currentPeriodStart),
      end: new Date(currentPeriodEnd),
    };
  }
  return calendarMonth(createdAt, now);
}

/** Without a payment processor: whole months (UTC) since the workspace was created. */
export function calendarMonth(createdAt: string, now: Date): Period {
  const from = new Date(createdAt);
  const months = wholeMonths(from, now);
  return { name: `month${months}`, start: monthsAfter(from, months), end: monthsAfter(from, months + 1) };
}

/** Every period, but for the lifetime's, in which something may ever have been counted. */
export function earlierPeriods(workspace: Pick<Workspace, "everPaid" | "createdAt" | "periodStarts">, now: Date) {
  if (!workspace.everPaid) return [];
  const months = wholeMonths(new Date(workspace.createdAt), now);
  return [
    ...Array.from({ length: months + 1 }, (_, month) => `month${month}`),
    ...workspace.periodStarts.map(nameOfStart),
  ];
}

const nameOfStart = (start: string): string => `from${start.replace(/\W/g, "")}`;

function wholeMonths(from: Date, now: Date): number {
  const months = (now.getUTCFullYear() - from.getUTCFullYear()) * 12 + now.getUTCMonth() - from.getUTCMonth();
  return now < monthsAfter(from, months) ? months - 1 : months;
}

/** The same day and time of day so many months on (UTC); the month's last day if it is shorter. */
function monthsAfter(from: Date, months: number): Date {
  const [year, month] = [from.getUTCFullYear(), from.getUTCMonth() + months];
  const lastDay = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
  const at = new Date(from);
  at.setUTCFullYear(year, month, Math.min(from.getUTCDate(), lastDay));
  return at;
}
