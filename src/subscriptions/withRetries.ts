import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { StreamMoved, Unavailable } from "#src/eventStore/eventStore.ts";
import type { Process, Timer } from "#src/processes/process.ts";
import type { Recorded } from "#streams/event.ts";
import type { Parking } from "./parking.ts";

/** Milliseconds before each further try; then the process's own last resort, and the event is parked. */
const retryMs = [100, 500, 2_000, 10_000];
const unavailableMs = 500;

export type Tried = {
  process: Process;
  subject: Recorded | Timer;
  key: string;
  position: number | null;
  parking: Parking;
  logger: Logger;
  signal: AbortSignal;
};

/**
 * Runs a handler until it succeeds, is given up, or the signal fires. Infrastructure that is away costs no tries: nothing is wrong with
 * the event.
 */
export async function withRetries(tried: Tried, run: (attempt: number) => Promise<void>): Promise<void> {
  const { process, signal, logger } = tried;
  for (let attempt = 1; !signal.aborted; ) {
    try {
      return await run(attempt);
    } catch (error) {
      if (signal.aborted) return;
      const outside = error instanceof Unavailable || error instanceof StreamMoved;
      if (outside) {
        await pause(unavailableMs, signal);
        continue;
      }
      logger.warn({ err: error, process: process.name, key: tried.key, attempt }, "a process failed on an event");
      const wait = retryMs[attempt - 1] ?? (process.givingUp === "never" ? retryMs.at(-1) : undefined);
      if (wait === undefined) return await giveUp(tried, error as Error, attempt);
      await pause(wait, signal);
      attempt++;
    }
  }
}

async function giveUp(tried: Tried, error: Error, tries: number): Promise<void> {
  const { process, subject, key, position, parking, logger, signal } = tried;
  logger.error({ err: error, process: process.name, key }, "an event is parked: npm run processes -- parked");
  let lastResort = typeof process.givingUp === "function" ? process.givingUp : undefined;
  while (!signal.aborted) {
    try {
      await lastResort?.(subject, error);
      lastResort = undefined;
      return await parking.park({ key, position, subject, error, tries });
    } catch (failure) {
      // The last resort itself may be what cannot work: the event must not be lost over it.
      if (!(failure instanceof Unavailable)) lastResort = undefined;
      await pause(unavailableMs, signal);
    }
  }
}

const pause = (ms: number, signal: AbortSignal): Promise<void> => sleep(ms, undefined, { signal }).catch(() => {});
