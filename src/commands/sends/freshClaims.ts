import type { Clock } from "#src/clock.ts";

/**
 * The claims this very process made a moment ago, by its own monotonic clock. A claim is good for one hand-over, here, while it is
 * fresh: a process that was suspended in between finds it too old.
 */
export type FreshClaims = {
  claimed(attemptId: string): void;
  /** Milliseconds since the claim was made here; Infinity for one made elsewhere or used before. */
  age(attemptId: string): number;
  forget(attemptId: string): void;
};

const remembered = 10_000;

export function createFreshClaims(clock: Clock): FreshClaims {
  const claims = new Map<string, number>();
  return {
    claimed(attemptId) {
      claims.set(attemptId, clock.monotonic());
      if (claims.size > remembered) claims.delete(claims.keys().next().value as string);
    },
    age: (attemptId) => clock.monotonic() - (claims.get(attemptId) ?? Number.NEGATIVE_INFINITY),
    forget: (attemptId) => void claims.delete(attemptId),
  };
}
