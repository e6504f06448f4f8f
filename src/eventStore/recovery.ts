/** The part of a logger that the adapter uses. */
export type AdapterLog = { warn(details: object, message: string): void };

export const silentLog: AdapterLog = { warn: () => {} };

/** Returns milliseconds to wait between attempts during an outage: short at first, never longer than half a second. */
export function retryPauses(): { next(): number; reset(): void } {
  const [shortest, longest] = [20, 500];
  let pause = shortest;
  return {
    next() {
      const current = pause;
      pause = Math.min(longest, pause * 2);
      return current;
    },
    reset() {
      pause = shortest;
    },
  };
}
