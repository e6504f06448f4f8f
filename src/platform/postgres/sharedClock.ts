import { setTimeout as delay } from "node:timers/promises";
import type { Clock } from "#src/platform/clock.ts";
import type { Sql } from "./database.ts";

/**
 * This machine's clock, corrected by its difference from PostgreSQL's: all instances have the same time, whatever their machines' clocks
 * show.
 */
export type SharedClock = Clock & {
  /** Resolves when the difference was measured, or could not be; it is measured repeatedly afterwards. */
  start(): Promise<void>;
  stop(): void;
};

type SharedClockOptions = {
  /** The machine's clock. */
  own: Clock;
  sql: Pick<Sql, "query">;
  log: { warn(details: object, message: string): void };
  /** Milliseconds between two measurements (default 10,000). */
  everyMs?: number;
};

/** Milliseconds of difference from which a log line is written. */
const worthTellingMs = 1_000;

/**
 * Creates the clock. A measurement bounds the difference: PostgreSQL read its clock after the query was sent and before it answered. If the
 * known difference is within the bounds, nothing changes, so a slow answer makes no time jump; otherwise the middle of the bounds is used.
 */
export function createSharedClock({ own, sql, log, everyMs = 10_000 }: SharedClockOptions): SharedClock {
  const stopping = new AbortController();
  let offsetMs = 0;

  async function measure(): Promise<void> {
    const askedAt = own.now().getTime();
    const asked = own.monotonic();
    const { rows } = await sql.query<{ now: Date }>("select clock_timestamp() as now");
    const tookMs = own.monotonic() - asked;
    const most = rows[0]!.now.getTime() - askedAt;
    const least = most - tookMs;
    // Both clocks count whole milliseconds, so a difference of 1 ms is within the bounds.
    if (offsetMs >= least - 1 && offsetMs <= most + 1) return;
    const before = offsetMs;
    offsetMs = Math.round((least + most) / 2);
    if (Math.abs(offsetMs - before) >= worthTellingMs)
      log.warn({ offsetMs }, "this machine's clock is not PostgreSQL's, whose time counts");
  }

  async function tryToMeasure(): Promise<void> {
    await measure().catch((error) =>
      log.warn({ reason: error.message }, "cannot compare this machine's clock with PostgreSQL's, retrying"),
    );
  }

  return {
    now: () => new Date(own.now().getTime() + offsetMs),
    monotonic: () => own.monotonic(),
    async start() {
      await tryToMeasure();
      void (async () => {
        for (;;) {
          await delay(everyMs, undefined, { signal: stopping.signal }).catch(() => undefined);
          if (stopping.signal.aborted) return;
          await tryToMeasure();
        }
      })();
    },
    stop: () => stopping.abort(),
  };
}
