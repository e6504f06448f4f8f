/** Rates or times of one thing measured several times. */
export type Spread = { median: number; min: number; max: number };

export function spreadOf(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  const median = ((sorted[Math.floor(middle)] ?? Number.NaN) + (sorted[Math.ceil(middle)] ?? Number.NaN)) / 2;
  return { median, min: sorted[0] ?? Number.NaN, max: sorted.at(-1) ?? Number.NaN };
}

/** Of values sorted upwards; `share` from 0 to 1. */
export function percentile(sorted: readonly number[], share: number): number {
  if (sorted.length === 0) return Number.NaN;
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;
}

/** p50 and p99 of times in milliseconds. */
export function latency(times: readonly number[]): { p50: number; p99: number } {
  const sorted = [...times].sort((a, b) => a - b);
  return { p50: round(percentile(sorted, 0.5), 2), p99: round(percentile(sorted, 0.99), 2) };
}

export function round(value: number, digits = 0): number {
  return Number(value.toFixed(digits));
}

export const figure = (value: number): string =>
  Math.abs(value) >= 100 ? Math.round(value).toLocaleString("en") : value.toFixed(2);

export const spreadText = ({ median, min, max }: Spread, unit: string): string =>
  `${figure(median)} ${unit} (${figure(min)}–${figure(max)})`;

/** One line that is written over where a person watches, and lines of their own elsewhere. */
export function progress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`);
  else process.stderr.write(`${text}\n`);
}

/** Ends the line that `progress` writes over. */
export function progressDone(): void {
  if (process.stderr.isTTY) process.stderr.write("\r\u001b[K");
}

/** Whether a goal is met, as a line for people. */
export function goal(name: string, value: number, bound: { atLeast?: number; atMost?: number }): boolean {
  const { atLeast, atMost } = bound;
  const met = (atLeast === undefined || value >= atLeast) && (atMost === undefined || value <= atMost);
  const wanted = atLeast === undefined ? `≤ ${figure(atMost!)}` : `≥ ${figure(atLeast)}`;
  console.log(`  ${met ? "met   " : "MISSED"}  ${name}: ${figure(value)} (goal ${wanted})`);
  return met;
}

/** Runs the work of `count` workers side by side and waits for all. */
export async function sideBySide(count: number, work: (worker: number) => Promise<void>): Promise<void> {
  await Promise.all(Array.from({ length: count }, (_, worker) => work(worker)));
}
