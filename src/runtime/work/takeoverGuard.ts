import type { Clock } from "#src/platform/clock.ts";

/**
 * Milliseconds without an answer from PostgreSQL after which claims may expire although their holders live. Less than a claim has left when
 * its next extension is due.
 */
const silenceMs = 5_000;
/** Milliseconds that other instances have to extend their claims once PostgreSQL answers again. */
const patienceMs = 5_000;

/**
 * Decides when an instance may take over expired claims. During a database outage no instance can extend its claims, and all expire
 * together: afterwards each instance extends its own first, and takes over others' only `patienceMs` later. The same holds after an
 * instance was suspended.
 */
export type TakeoverGuard = {
  /**
   * True if takeovers are allowed. False while PostgreSQL has been silent for long: a statement issued now may be answered only after the
   * outage.
   */
  allowed(): boolean;
  /** Records an answer of PostgreSQL. True after a silence so long that this instance must extend its own claims at once. */
  answered(): boolean;
  /** Records that this instance's claims were extended by a statement issued at `askedAt` (milliseconds, monotonic). */
  extended(askedAt: number): void;
};

export function createTakeoverGuard(clock: Pick<Clock, "monotonic">): TakeoverGuard {
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
