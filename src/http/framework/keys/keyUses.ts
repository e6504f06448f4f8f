import { LRUCache } from "lru-cache";
import type { Clock } from "#src/platform/clock.ts";
import type { Database } from "#src/platform/postgres/database.ts";

/** Times at which API keys were last used, to the minute, so that a busy key costs one write a minute. */
export type KeyUses = {
  /** Never waits and never throws, so that it does not delay a request. */
  note(keyId: string): void;
  /** Last use by key id; keys that were never used are omitted. */
  lastUses(keyIds: readonly string[]): Promise<Map<string, Date>>;
};

const everyMs = 60_000;
const maxRemembered = 10_000;

export function createKeyUses(deps: {
  database: Pick<Database, "query">;
  clock: Clock;
  onError?: (error: unknown) => void;
}): KeyUses {
  const { database, clock, onError = () => {} } = deps;
  const written = new LRUCache<string, number>({ max: maxRemembered });

  function isDue(keyId: string): boolean {
    const now = clock.monotonic();
    if (now - (written.get(keyId) ?? Number.NEGATIVE_INFINITY) < everyMs) return false;
    written.set(keyId, now);
    return true;
  }

  return {
    note(keyId) {
      if (!isDue(keyId)) return;
      database.query(upsert, [keyId, clock.now(), everyMs]).catch((error) => {
        written.delete(keyId);
        onError(error);
      });
    },
    async lastUses(keyIds) {
      const { rows } = await database.query<{ api_key_id: string; last_used_at: Date }>(
        "select api_key_id, last_used_at from work.api_key_uses where api_key_id = any($1::uuid[])",
        [keyIds],
      );
      return new Map(rows.map((row) => [row.api_key_id, row.last_used_at]));
    },
  };
}

/** Keeps the latest time: other instances record uses of the same key. */
const upsert = `
  insert into work.api_key_uses as u (api_key_id, last_used_at) values ($1, $2)
  on conflict (api_key_id) do update set last_used_at = excluded.last_used_at
  where u.last_used_at <= excluded.last_used_at - make_interval(secs => $3 / 1000.0)`;
