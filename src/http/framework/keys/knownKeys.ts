import { LRUCache } from "lru-cache";
import { type Clock, type ClockReading, longestSince, readClock } from "#src/platform/clock.ts";
import type { KeyPrincipal } from "../principal.ts";

type FindKey = (hash: string) => Promise<KeyPrincipal | undefined>;

/** Milliseconds for which a found key is cached: a busy key costs one look-up a second. */
const knownForMs = 1_000;
const mostKnown = 10_000;

/**
 * Caches live keys, but no failed look-ups. A request under a key revoked meanwhile is treated like one that was looked up just before the
 * revocation: this instance refuses it once it has read the revocation, and the DELETE is answered only after that (`revocation.ts`).
 */
export function rememberingKeys(find: FindKey, clock: Clock): FindKey {
  const known = new LRUCache<string, { key: KeyPrincipal; since: ClockReading }>({ max: mostKnown });

  return async (hash) => {
    const since = readClock(clock);
    const found = known.get(hash);
    if (found && longestSince(clock, found.since) < knownForMs) return found.key;
    const key = await find(hash);
    if (key === undefined) known.delete(hash);
    else known.set(hash, { key, since });
    return key;
  };
}
