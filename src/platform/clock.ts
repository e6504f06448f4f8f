import { randomBytes } from "node:crypto";
import { v7 } from "uuid";

/** Time, as a port: tests and a simulator drive it. */
export type Clock = {
  now(): Date;
  /** Milliseconds that never go backwards, for measuring how old something is within this process. */
  monotonic(): number;
};

export const systemClock: Clock = { now: () => new Date(), monotonic: () => performance.now() };

/** A moment, to be measured from. */
export type Moment = { monotonic: number; date: number };

export const momentOf = (clock: Clock): Moment => ({ monotonic: clock.monotonic(), date: clock.now().getTime() });

/**
 * Milliseconds since a moment of this process, by whichever of its two clocks says more: while a machine sleeps the one that never goes backwards may
 * stand still. For what must not be believed for longer; one whose date is set is too old as well.
 */
export function longestSince(clock: Clock, { monotonic, date }: Moment): number {
  return Math.max(clock.monotonic() - monotonic, Math.abs(clock.now().getTime() - date));
}

/** Looks again and again, never twice at once, the first time before this resolves. A look that fails changes nothing. Returns how to end it. */
export async function repeatedly(look: () => Promise<void>, everyMs: number): Promise<() => void> {
  let looking = false;
  const lookOnce = async (): Promise<void> => {
    if (looking) return;
    looking = true;
    await look().catch(() => undefined);
    looking = false;
  };
  await lookOnce();
  const timer = setInterval(() => void lookOnce(), everyMs);
  timer.unref();
  return () => clearInterval(timer);
}

/** New ids and random bytes, as a port. */
export type Ids = {
  /** A fresh UUIDv7. */
  uuid(): string;
  random(bytes: number): Buffer;
};

export const systemIds: Ids = { uuid: () => v7(), random: (bytes) => randomBytes(bytes) };
