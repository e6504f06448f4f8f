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

export function createCancellations({ database }: { database: Pick<Database, "query"> }): Cancellations {
  const running = new Map<string, Set<() => void>>();
  let looking = false;

  async function look(): Promise<void> {
    if (looking) return;
    looking = true;
    while (running.size > 0) {
      await sleep(lookEveryMs, undefined, { ref: false });
      // A failed look-up is repeated in the next round.
      const found = await database.query<{ call: string }>(select, [[...running.keys()]]).catch(() => undefined);
      for (const { call } of found?.rows ?? []) endOnly(call);
    }
    looking = false;
  }

  /** Ends a call, unless several have this name. False if none has it. */
  function endOnly(call: string): boolean {
    const ends = [...(running.get(call) ?? [])];
    if (ends.length === 1) ends[0]?.();
    return ends.length > 0;
  }

  return {
    enter(id, end) {
      const call = nameOf(id);
      const ends = running.get(call) ?? new Set();
      running.set(call, ends.add(end));
      void look();
      return () => {
        ends.delete(end);
        if (ends.size === 0 && running.get(call) === ends) running.delete(call);
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

const select = "select call from work.cancelled_calls where call = any($1)";

const insert = `
  with old as (
    delete from work.cancelled_calls where call in (
      select call from work.cancelled_calls where cancelled_at < clock_timestamp() - interval '1 minute'
      limit 100 for update skip locked
    )
  )
  insert into work.cancelled_calls (call) values ($1) on conflict (call) do update set cancelled_at = excluded.cancelled_at`;
