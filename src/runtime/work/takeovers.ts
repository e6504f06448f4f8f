import type { Clock } from "#src/platform/clock.ts";

/** Milliseconds without an answer, after which claims may have run out although their holders live: less than a claim has left when it is extended next. */
const silenceMs = 5_000;
/** So long the others have to extend theirs once PostgreSQL answers again, in milliseconds. */
const patienceMs = 5_000;

/**
 * Says when an instance may take over claims that have run out. While PostgreSQL is away nobody can extend a claim, and all of them run out
 * together: then each instance extends its own first, and takes over from others only a while later. The same after an instance was stopped.
 */
export type Takeovers = {
  /** False also while PostgreSQL has been silent for long: what is asked of it now may be answered when it is back. */
  allowed(): boolean;
  /** PostgreSQL has answered. True if it was silent for so long that this instance has to extend its own claims at once. */
  answered(): boolean;
  /** This instance's claims were extended, as it asked at that moment (milliseconds, monotonic). */
  extended(askedAt: number): void;
};

export function createTakeovers(clock: Pick<Clock, "monotonic">): Takeovers {
  let answeredAt = clock.monotonic();
  let backAt = Number.NEGATIVE_INFINITY;
  let extendedAt = answeredAt;
  return {
    allowed() {
      const now = clock.monotonic();
      return now - answeredAt <= silenceMs && now - backAt >= patienceMs && extendedAt >= backAt;
    },
    answered() {
      const now = clock.monotonic();
      const wasSilent = now - answeredAt > silenceMs;
      if (wasSilent) backAt = now;
      answeredAt = now;
      return wasSilent;
    },
    extended(askedAt) {
      extendedAt = askedAt;
    },
  };
}
