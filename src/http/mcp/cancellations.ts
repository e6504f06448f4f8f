import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Database } from "#src/platform/postgres/database.ts";

/**
 * A call of a tool, by its key, its client and the id that the client gave it. Ids are unique per client; `client` is null if the client
 * does not send the `Mcp-Session-Id` that it got, or got none.
 */
export type CallId = { keyId: string; client: string | null; id: string | number };

/** Calls that their clients cancel by a notification, which is a separate request and may arrive at another instance. */
export type Cancellations = {
  /** Registers a call until the returned function is called. `end` is called when its client cancels it. */
  enter(call: CallId, end: () => void): () => void;
  /**
   * Ends a call on whichever instance it runs: there within `lookEveryMs`, here at once. A call without a client is ended only here, and
   * only if no other such call has its id. Throws Unavailable.
   */
  cancel(call: CallId): Promise<void>;
};

const lookEveryMs = 1_000;
/** Milliseconds by which a cancellation may reach another instance before its call: one from longer before was of an earlier call. */
const earlyMs = 1_000;

type RunningCall = { end: () => void; begunAt: number };
type CancelledRow = { call: string; age_ms: number };

export function createCancellations({ database }: { database: Pick<Database, "query"> }): Cancellations {
  const running = new Map<string, Set<RunningCall>>();
  let looking = false;

  async function look(): Promise<void> {
    if (looking) return;
    looking = true;
    while (running.size > 0) {
      await sleep(lookEveryMs, undefined, { ref: false });
      // A failed look-up is repeated in the next round.
      const found = await database.query<CancelledRow>(select, [[...running.keys()]]).catch(() => undefined);
      for (const { call, age_ms: age } of found?.rows ?? []) endOnly(call, performance.now() - age + earlyMs);
    }
    looking = false;
  }

  /** Ends a call that began before a time (performance.now()), unless several have this name. False if none has it. */
  function endOnly(call: string, before = Number.POSITIVE_INFINITY): boolean {
    const calls = [...(running.get(call) ?? [])];
    if (calls.length === 1 && calls[0]!.begunAt < before) calls[0]?.end();
    return calls.length > 0;
  }

  return {
    enter(id, end) {
      const call = nameOf(id);
      const calls = running.get(call) ?? new Set();
      const entered = { end, begunAt: performance.now() };
      running.set(call, calls.add(entered));
      void look();
      return () => {
        calls.delete(entered);
        if (calls.size === 0 && running.get(call) === calls) running.delete(call);
      };
    },
    async cancel(id) {
      if (endOnly(nameOf(id)) || id.client === null) return;
      await database.query(insert, [nameOf(id)]);
    },
  };
}

/** A name of bounded length, which reveals nothing. */
const nameOf = ({ keyId, client, id }: CallId): string =>
  createHash("sha256")
    .update(JSON.stringify([keyId, client, id]))
    .digest("base64url");

const select = `
  select call, (extract(epoch from clock_timestamp() - cancelled_at) * 1000)::float8 as age_ms
    from work.cancelled_calls where call = any($1)`;

const insert = `
  with old as (
    delete from work.cancelled_calls where call in (
      select call from work.cancelled_calls where cancelled_at < clock_timestamp() - interval '1 minute'
      limit 100 for update skip locked
    )
  )
  insert into work.cancelled_calls (call) values ($1) on conflict (call) do update set cancelled_at = excluded.cancelled_at`;
