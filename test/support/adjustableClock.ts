import { type Clock, systemClock } from "#src/platform/clock.ts";

export type AdjustableClock = Clock & {
  /** Moves the clock forward by this many milliseconds. */
  advance(ms: number): void;
};

/** The system's clock, which a test can move forward, so that timers become due without waiting. */
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
