import { randomBytes } from "node:crypto";
import { v7 } from "uuid";

/** Port for time: tests and a simulator control it. */
export type Clock = {
  now(): Date;
  /** Milliseconds that never go backwards, for measuring how old something is within this process. */
  monotonic(): number;
};

export const systemClock: Clock = { now: () => new Date(), monotonic: () => performance.now() };

/** A moment from which time is measured. */
export type ClockReading = { monotonic: number; date: number };

export const readClock = (clock: Clock): ClockReading => ({
  monotonic: clock.monotonic(),
  date: clock.now().getTime(),
});

/**
 * Milliseconds since a moment of this process, by whichever of its two clocks shows more: the monotonic one may stop while a machine
 * sleeps. For data that must not be trusted for longer; after a change of the system time it counts as too old as well.
 */
export function longestSince(clock: Clock, { monotonic, date }: ClockReading): number {
  return Math.max(clock.monotonic() - monotonic, Math.abs(clock.now().getTime() - date));
}

/**
 * Calls `look` repeatedly, never concurrently; the first call completes before this resolves. Errors are ignored. Returns a function that
 * stops it.
 */
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

/** Port for new ids and random bytes. */
export type Ids = {
  /** A fresh UUIDv7. */
  uuid(): string;
  random(bytes: number): Buffer;
};

export const systemIds: Ids = { uuid: () => v7(), random: (bytes) => randomBytes(bytes) };
