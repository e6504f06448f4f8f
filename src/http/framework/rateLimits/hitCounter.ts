import type { Clock } from "#src/platform/clock.ts";
import type { Database } from "#src/platform/postgres/database.ts";
import { createSweep } from "../sweep.ts";

/** Hits of a key in its window, including this one, and the end of the window by this process's clock. */
export type Hits = { hits: number; resetsAt: Date };

/** Counts hits per key in windows that begin with the first hit; exact across instances. Throws Unavailable. */
export type HitCounter = { hit(key: string): Promise<Hits> };

/** A counter that can undo a hit, for limits on failures: the hit is counted before the outcome is known. */
export type ForgivingCounter = HitCounter & { forgive(key: string): Promise<void> };

type Waiting = { key: string; resolve(hits: Hits): void; reject(error: unknown): void };
type HitRow = { key: string; hits: number; remaining_ms: number };

const sweepEveryMs = 60_000;

/** A hit counter in PostgreSQL, whose clock all instances share. Hits that arrive during a statement are sent together in the next one. */
export function createHitCounter(deps: {
  database: Pick<Database, "query">;
  clock: Clock;
  windowMs: number;
  onError: (error: unknown) => void;
}): ForgivingCounter {
  const { database, windowMs } = deps;
  const sweep = createSweep({ ...deps, statement: removeOld, everyMs: sweepEveryMs });
  let waiting: Waiting[] = [];
  let counting = false;

  async function countAll(): Promise<void> {
    counting = true;
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      await count(batch).catch((error) => {
        for (const { reject } of batch) reject(error);
      });
    }
    counting = false;
    sweep();
  }

  async function count(batch: readonly Waiting[]): Promise<void> {
    const byKey = new Map<string, Waiting[]>();
    for (const hit of batch) byKey.set(hit.key, [...(byKey.get(hit.key) ?? []), hit]);
    const numbers = [...byKey.values()].map((hits) => hits.length);
    const { rows } = await database.query<HitRow>(countHits, [[...byKey.keys()], numbers, windowMs]);
    for (const row of rows) {
      // Converted to this machine's clock, because the callers compare it with that.
      const resetsAt = new Date(Date.now() + row.remaining_ms);
      const own = byKey.get(row.key)!;
      for (const [index, { resolve }] of own.entries()) resolve({ hits: row.hits - own.length + index + 1, resetsAt });
    }
  }

  return {
    hit: (key) =>
      new Promise((resolve, reject) => {
        waiting.push({ key, resolve, reject });
        if (!counting) void countAll();
      }),
    async forgive(key) {
      await database.query("update work.rate_limits set hits = hits - 1 where key = $1 and hits > 0", [key]);
    },
  };
}

/** Sorted by key, so that statements of two instances cannot deadlock. */
const countHits = `
  insert into work.rate_limits as counted (key, hits, resets_at)
  select key, hits, statement_timestamp() + $3 * interval '1 ms'
  from unnest($1::text[], $2::int[]) as hit (key, hits) order by key
  on conflict (key) do update set
    hits = case when counted.resets_at <= statement_timestamp() then excluded.hits else counted.hits + excluded.hits end,
    resets_at = case when counted.resets_at <= statement_timestamp() then excluded.resets_at else counted.resets_at end
  returning key, hits, (extract(epoch from resets_at - statement_timestamp()) * 1000)::float8 as remaining_ms`;

const removeOld = `
  delete from work.rate_limits where key in (
    select key from work.rate_limits where resets_at < now() - interval '1 minute' for update skip locked limit 10000
  )`;
