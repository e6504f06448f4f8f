import { setTimeout as delay } from "node:timers/promises";
import type { Clock } from "#src/platform/clock.ts";
import type { Sql } from "./database.ts";

/** This machine's clock, moved by how far PostgreSQL's is from it: all instances have the same time, whatever their machines say. */
export type SharedClock = Clock & {
  /** Resolves when the difference was measured, or could not be; from then on it is measured again and again. */
  start(): Promise<void>;
  stop(): void;
};

type Options = {
  /** The machine's. */
  own: Clock;
  sql: Pick<Sql, "query">;
  log: { warn(details: object, message: string): void };
  /** Milliseconds between two measurements (default 10,000). */
  everyMs?: number;
};

/** What is less than this off, in milliseconds, is not worth telling. */
const worthTellingMs = 1_000;

/**
 * A measurement says between which two values the difference lies: PostgreSQL looked at its clock after it was asked and before it answered.
 * One that fits what is known changes nothing, so a slow answer makes no time jump; otherwise the middle between the two is taken.
 */
export function createSharedClock({ own, sql, log, everyMs = 10_000 }: Options): SharedClock {
  const stopping = new AbortController();
  let offsetMs = 0;

  async function measure(): Promise<void> {
    const askedAt = own.now().getTime();
    const asked = own.monotonic();
    const { rows } = await sql.query<{ now: Date }>("select clock_timestamp() as now");
    const tookMs = own.monotonic() - asked;
    const most = rows[0]!.now.getTime() - askedAt;
    const least = most - tookMs;
    // Both clocks were read in whole milliseconds.
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
