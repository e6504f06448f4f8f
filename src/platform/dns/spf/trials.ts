import type { Lookup, Resolver } from "../resolver.ts";
import { addressesOf } from "./addresses.ts";
import type { SpfMechanism } from "./record.ts";

/**
 * An evaluation that has to pass; with `orNoMatch` one that has to end without an error. `of`: the address as people know it; null for one
 * that stands for a mechanism.
 */
export type SpfTrial = { ip: string; of: string | null; resolver: Resolver; orNoMatch?: true };

export const trialOf = (resolver: Resolver, ip: string): SpfTrial => ({ ip, of: ip, resolver });

/** Maximum number of trials of a record. */
const maxTrials = 32;

/**
 * Returns the trials for the mechanisms that let our servers send: one for each address that they lead to. A mechanism that leads to none
 * has to be reached. Undefined if DNS did not answer.
 */
export async function trialsOf(
  resolver: Resolver,
  mechanisms: readonly SpfMechanism[],
): Promise<SpfTrial[] | undefined> {
  const trials: SpfTrial[] = [];
  for (const mechanism of mechanisms) {
    const addresses = await addressesOf(resolver, mechanism);
    if (!addresses) return undefined;
    if (addresses.length > 0) trials.push(...addresses.map((ip) => trialOf(resolver, ip)));
    else trials.push(...trialsOfReaching(resolver, mechanism));
  }
  return trials.length === 0 ? [trialOf(resolver, standIn)] : trials.slice(0, maxTrials);
}

/** An address that no host has (RFC 1112, 4). It stands for the servers of a mechanism that leads to none. */
const standIn = "240.0.0.1";

/**
 * Returns a trial that passes if an evaluation reaches the mechanism, which lets the stand-in pass. Receivers continue behind a host without
 * addresses, so it may be published later; but they refuse a record that includes a missing or faulty one, so that is tried without the
 * stand-in too.
 */
function trialsOfReaching(resolver: Resolver, { name, value }: SpfMechanism): SpfTrial[] {
  const permitting: Resolver = {
    ...resolver,
    a: async (host) => (name === "a" && host === value ? found([standIn]) : resolver.a(host)),
    async txt(domain) {
      const lookup = await resolver.txt(domain);
      return name === "include" && domain === value ? withStandIn(lookup) : lookup;
    },
  };
  const reaching: SpfTrial = { ip: standIn, of: null, resolver: permitting };
  return name === "include" ? [reaching, { ip: standIn, of: null, resolver, orNoMatch: true }] : [reaching];
}

function withStandIn(lookup: Lookup<string>): Lookup<string> {
  if (lookup.outcome !== "found") return lookup;
  return found(lookup.records.map((text) => text.replace(/^v=spf1(?= |$)/i, `v=spf1 ip4:${standIn}`)));
}

const found = (records: string[]): Lookup<string> => ({ outcome: "found", records });
