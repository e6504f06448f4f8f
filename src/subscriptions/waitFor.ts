import { setTimeout as sleep } from "node:timers/promises";
import type { Projection } from "#projections/projection.ts";
import type { Sql } from "#src/postgres/database.ts";

export type WaitFor = {
  /** True when every read model has reached this position; false where they did not within `timeoutMs` (5 s). */
  projected(position: number, options?: { timeoutMs?: number; signal?: AbortSignal }): Promise<boolean>;
  /** Called by a projection runner of the same process, which saves asking the database. */
  reached(position: number): void;
  close(): void;
};

const pollMs = 10;

/** Read your writes: also where the projections run in another instance. */
export function createWaitFor({
  database,
  projections,
}: {
  database: Sql;
  projections: readonly Projection[];
}): WaitFor {
  const names = projections.map((projection) => projection.name);
  const waiting = new Set<{ position: number; done: (reached: boolean) => void }>();
  let known = 0;
  let polling = false;
  let closed = false;

  function reached(position: number): void {
    if (position <= known) return;
    known = position;
    for (const waiter of waiting) if (waiter.position <= known) waiter.done(true);
  }

  /** One loop for all who wait, and none where nobody does. */
  async function poll(): Promise<void> {
    if (polling) return;
    polling = true;
    while (waiting.size > 0 && !closed) {
      await sleep(pollMs);
      const { rows } = await database
        .query<{ position: number | null; count: number }>(
          "select min(position) as position, count(*)::int as count from work.checkpoints where name = any($1)",
          [names],
        )
        .catch(() => ({ rows: [] }));
      const [row] = rows;
      if (row?.position != null && row.count === names.length) reached(row.position);
    }
    polling = false;
  }

  return {
    reached,
    projected(position, { timeoutMs = 5_000, signal } = {}) {
      if (position <= known) return Promise.resolve(true);
      return new Promise((resolve) => {
        const waiter = { position, done };
        const timer = setTimeout(() => done(false), timeoutMs);
        const abort = () => done(false);
        function done(result: boolean): void {
          waiting.delete(waiter);
          clearTimeout(timer);
          signal?.removeEventListener("abort", abort);
          resolve(result);
        }
        signal?.addEventListener("abort", abort);
        waiting.add(waiter);
        void poll();
      });
    },
    close() {
      closed = true;
      for (const waiter of waiting) waiter.done(false);
    },
  };
}
