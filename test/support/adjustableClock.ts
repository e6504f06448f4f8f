import { type Clock, systemClock } from "#src/platform/clock.ts";

export type AdjustableClock = Clock & {
  /** Lets so many milliseconds pass at once. */
  advance(ms: number): void;
};

/** The system's clock, which a test can put forward: what is due then comes without anybody waiting. */
export function adjustableClock(): AdjustableClock {
  let passed = 0;
  return {
    now: () => new Date(systemClock.now().getTime() + passed),
    monotonic: () => systemClock.monotonic() + passed,
    advance(ms) {
      passed += ms;
    },
  };
}
