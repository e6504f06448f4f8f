/** Calendar months, counted from any day of one, in UTC. */

/** Returns the whole months from `from` to `now`; negative before `from`. */
export function wholeMonths(from: Date, now: Date): number {
  const months = (now.getUTCFullYear() - from.getUTCFullYear()) * 12 + now.getUTCMonth() - from.getUTCMonth();
  return now < monthsAfter(from, months) ? months - 1 : months;
}

/** Returns the same day and time of day, `months` months later; the last day of the month if that month is shorter. */
export function monthsAfter(from: Date, months: number): Date {
  const [year, month] = [from.getUTCFullYear(), from.getUTCMonth() + months];
  const lastDay = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
  const at = new Date(from);
  at.setUTCFullYear(year, month, Math.min(from.getUTCDate(), lastDay));
  return at;
}
