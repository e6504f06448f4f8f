import { LRUCache } from "lru-cache";
import { type Clock, longestSince, type Moment, momentOf } from "#src/platform/clock.ts";
import type { KeyPrincipal } from "../principal.ts";

type FindKey = (hash: string) => Promise<KeyPrincipal | undefined>;

/** For so long a key that was found needs no look-up: a busy one costs one a second. */
const knownForMs = 1_000;
const mostKnown = 10_000;

/**
 * Remembers the live keys that were found, and none that were not. A request under a key that has been revoked since is what a request is that was
 * looked up just before: this instance refuses it once it has heard of the revocation, and the DELETE is answered after that (`revocation.ts`).
 */
export function rememberingKeys(find: FindKey, clock: Clock): FindKey {
  const known = new LRUCache<string, { key: KeyPrincipal; since: Moment }>({ max: mostKnown });

  return async (hash) => {
    const since = momentOf(clock);
    const found = known.get(hash);
    if (found && longestSince(clock, found.since) < knownForMs) return found.key;
    const key = await find(hash);
    if (key === undefined) known.delete(hash);
    else known.set(hash, { key, since });
    return key;
  };
}
