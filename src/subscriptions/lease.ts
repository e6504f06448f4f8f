import { setTimeout as sleep } from "node:timers/promises";
import type { Sql } from "#src/postgres/database.ts";

/** Who does a piece of work that only one instance should do at a time. Not a fence: what is done under it must stand a second doer. */
export type Lease = {
  /**
   * Runs `work` whenever this instance holds the lease, until aborted. `work` gets a signal that fires when the lease is lost; it is
   * started again after it ends or fails.
   */
  hold(work: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void>;
  /** True while this instance holds it. */
  held(): boolean;
};

const lastsMs = 5_000;
const renewEveryMs = 1_500;
const retryEveryMs = 300;

export type LeaseOptions = { database: Sql; name: string; holder: string; onError: (error: unknown) => void };

/**
 * A lease is a row that expires by the database's clock: one held by an instance that hangs or was suspended runs out, unlike a session
 * lock, which such an instance would keep.
 */
export function createLease({ database, name, holder, onError }: LeaseOptions): Lease {
  let held = false;

  /** True where the lease is ours for the next `lastsMs`. */
  async function acquire(): Promise<boolean> {
    const { rowCount } = await database.query(
      `insert into work.leases as l (name, holder, epoch, expires_at)
       values ($1, $2, 1, now() + $3 * interval '1 millisecond')
       on conflict (name) do update set holder = excluded.holder, expires_at = excluded.expires_at,
         epoch = case when l.holder = excluded.holder then l.epoch else l.epoch + 1 end
       where l.expires_at < now() or l.holder = excluded.holder`,
      [name, holder, lastsMs],
    );
    return rowCount === 1;
  }

  const release = () =>
    database
      .query("update work.leases set expires_at = now() where name = $1 and holder = $2", [name, holder])
      .catch(onError);

  /** Renews until it cannot; then, or when a pause outlasted the lease, the work is told to stop. */
  async function renew(lost: AbortController, stop: AbortSignal): Promise<void> {
    let goodUntil = performance.now() + lastsMs;
    while (!stop.aborted && !lost.signal.aborted) {
      await sleep(renewEveryMs, undefined, { signal: AbortSignal.any([stop, lost.signal]) }).catch(() => {});
      if (stop.aborted) return;
      const asked = performance.now();
      if (asked > goodUntil) return lost.abort();
      try {
        if (!(await acquire())) return lost.abort();
        goodUntil = asked + lastsMs;
      } catch (error) {
        onError(error);
      }
    }
  }

  return {
    held: () => held,
    async hold(work, signal) {
      while (!signal.aborted) {
        const got = await acquire().catch((error) => {
          onError(error);
          return false;
        });
        if (!got) {
          await sleep(retryEveryMs, undefined, { signal }).catch(() => {});
          continue;
        }
        held = true;
        const over = new AbortController();
        const lost = new AbortController();
        const renewing = renew(lost, over.signal);
        try {
          await work(AbortSignal.any([signal, lost.signal]));
        } catch (error) {
          onError(error);
          await sleep(retryEveryMs, undefined, { signal }).catch(() => {});
        } finally {
          held = false;
          over.abort();
          await renewing;
          if (signal.aborted) await release();
        }
      }
    },
  };
}
