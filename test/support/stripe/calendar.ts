/** Counts months as a payment processor does, independently of the service's own code: searches whole days one by one. UTC. */
export function monthsOn(from: Date, months: number): Date {
  const first = new Date(Date.UTC(from.getUTCFullYear(), from.getUTCMonth() + months, 1));
  const time = from.getTime() % 86_400_000;
  for (let day = from.getUTCDate(); ; day--) {
    const at = new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth(), day) + time);
    if (at.getUTCMonth() === first.getUTCMonth()) return at;
  }
}
