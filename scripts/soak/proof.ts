/**
 * One long proof: the same function runs at full size under `npm run soak`, and as a sample under `npm test` or, larger, `npm run check`.
 */
export type Proof = {
  name: string;
  /** The proved property, in one line. */
  title: string;
  /** Names what `size` counts. */
  unit: string;
  full: number;
  /** Size with `--full`, as in `npm run check`. */
  checked: number;
  sample: number;
  run(proving: Proving): Promise<void>;
};

/** `seed` determines every random choice. */
export type Proving = { size: number; seed: number; report: Report };

/** The default, so that every run makes the same choices. */
export const usualSeed = 20_261_121;

/** Collects the results of a proof. A violation is a sentence that says what must never happen and where it did. */
export type Report = {
  figure(name: string, value: string | number): void;
  violation(text: string): void;
  /** Shows the progress to a person who waits. */
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

/** Records "N of N", and a violation if some are missing. */
export function allOf(report: Report, name: string, { good, of }: { good: number; of: number }): void {
  report.figure(name, `${good} of ${of}`);
  if (good !== of) report.violation(`${name}: only ${good} of ${of}`);
}

/** Does `work` for each item, at most `lanes` at a time. */
export async function inParallel<T>(
  items: readonly T[],
  lanes: number,
  work: (item: T, index: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < items.length) {
      const index = next++;
      await work(items[index] as T, index);
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}

/** `p50 … ms, most … ms of …`. */
export function spread(ms: readonly number[]): string {
  const sorted = ms.map(Math.round).sort((a, b) => a - b);
  return `p50 ${sorted[Math.floor(sorted.length / 2)]} ms, most ${sorted.at(-1)} ms of ${sorted.length}`;
}
