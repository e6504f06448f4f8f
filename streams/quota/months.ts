/** Months of the calendar, counted from any day of one, in UTC. */

/** How many months have gone by; negative before `from`. */
export function wholeMonths(from: Date, now: Date): number {
  const months = (now.getUTCFullYear() - from.getUTCFullYear()) * 12 + now.getUTCMonth() - from.getUTCMonth();
  return now < monthsAfter(from, months) ? months - 1 : months;
}

/** The same day and time of day so many months on; the month's last day if it is shorter. */
export function monthsAfter(from: Date, months: number): Date {
  const [year, month] = [from.getUTCFullYear(), from.getUTCMonth() + months];
  const lastDay = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
  const at = new Date(from);
  at.setUTCFullYear(year, month, Math.min(from.getUTCDate(), lastDay));
  return at;
}
