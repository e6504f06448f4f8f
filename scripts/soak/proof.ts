/** One long proof: the same function at full size under `npm run soak`, and as a sample under `npm test` or, larger, `npm run check`. */
export type Proof = {
  name: string;
  /** What it shows, in one line. */
  title: string;
  /** What `size` counts. */
  unit: string;
  full: number;
  /** With `--full`, as `npm run check` has it. */
  checked: number;
  sample: number;
  /** `size` is the number of rounds, mails or kills, as the title says. */
  run(size: number, report: Report): Promise<void>;
};

/** Collects what a proof found. A violation is something that must never be, in words that lead to it. */
export type Report = {
  figure(name: string, value: string | number): void;
  violation(text: string): void;
  /** How far it is, for a person who waits. */
  progress(done: number, of: number, what?: string): void;
  readonly figures: ReadonlyMap<string, string | number>;
  readonly violations: readonly string[];
};

export function createReport(onProgress: (text: string) => void = () => {}): Report {
  const figures = new Map<string, string | number>();
  const violations: string[] = [];
  return {
    figures,
    violations,
    figure: (name, value) => void figures.set(name, value),
    violation: (text) => void violations.push(text),
    progress: (done, of, what = "") => onProgress(`${done}/${of} ${what}`),
  };
}

/** "N of N", and a violation where some are missing. */
export function allOf(report: Report, name: string, { good, of }: { good: number; of: number }): void {
  report.figure(name, `${good} of ${of}`);
  if (good !== of) report.violation(`${name}: only ${good} of ${of}`);
}

/** Does `work` for each item, so many at a time. */
export async function inParallel<T>(
  items: readonly T[],
  lanes: number,
  work: (item: T, index: number) => Promise<void>,
) {
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < items.length) {
      const index = next++;
      await work(items[index] as T, index);
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}

/** The value that so many percent of the values do not exceed. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil((sorted.length * percent) / 100) - 1)] ?? 0;
}
