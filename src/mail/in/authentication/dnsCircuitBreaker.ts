import { LRUCache } from "lru-cache";
import type { Clock } from "#src/platform/clock.ts";
import { asciiName, registrableDomain } from "#src/platform/dns/names.ts";
import { eachOf, type Lookup, type Resolver } from "#src/platform/dns/resolver.ts";

/** Milliseconds during which a dead zone is not queried. */
const deadMs = 60_000;
/** A failure faster than this costs too little to count. */
const slowMs = 3_000;
/** After this many slow failures in a row the zone counts as dead: one failure may be a lost packet. */
const failures = 3;
const maxZones = 10_000;

/**
 * Circuit breaker for DNS: if the servers of a registered domain do not answer, further queries for that domain fail immediately for a
 * minute. Any answer, positive or negative, closes the breaker.
 */
export function dnsCircuitBreaker(resolver: Resolver, clock: Pick<Clock, "monotonic">): Resolver {
  const silent = new LRUCache<string, { failures: number; at: number }>({ max: maxZones });

  const isOver = ({ at }: { at: number }): boolean => clock.monotonic() - at >= deadMs;

  function isDead(zone: string): boolean {
    const known = silent.get(zone);
    return known !== undefined && known.failures >= failures && !isOver(known);
  }

  function noteSilence(zone: string): void {
    const before = silent.get(zone);
    const count = before && !isOver(before) ? before.failures : 0;
    silent.set(zone, { failures: count + 1, at: clock.monotonic() });
  }

  const sparing =
    <T>(lookUp: (name: string) => Promise<Lookup<T>>) =>
    async (name: string): Promise<Lookup<T>> => {
      const zone = registrableDomain(asciiName(name)) ?? name;
      if (isDead(zone)) return { outcome: "temporary_failure", reason: "its DNS did not answer a moment ago" };
      const began = clock.monotonic();
      const found = await lookUp(name);
      if (found.outcome !== "temporary_failure") silent.delete(zone);
      else if (clock.monotonic() - began >= slowMs) noteSilence(zone);
      return found;
    };

  return eachOf(resolver, sparing);
}
