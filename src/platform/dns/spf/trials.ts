import type { Lookup, Resolver } from "../resolver.ts";
import { addressesOf } from "./addresses.ts";
import { type SpfMechanism, spfRecordsIn } from "./record.ts";

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
    else trials.push(...(await trialsOfReaching(resolver, mechanism)));
  }
  return trials.length === 0 ? [trialOf(resolver, standIn)] : trials.slice(0, maxTrials);
}

/** An address that no host has (RFC 1112, 4). It stands for the servers of a mechanism that leads to none. */
const standIn = "240.0.0.1";

/**
 * Returns a trial that passes if an evaluation reaches the mechanism, which lets the stand-in pass. A record of ours that is not published
 * yet is no fault of the customer's record; with one that has a fault, which receivers refuse, it is tried without the stand-in too.
 */
async function trialsOfReaching(resolver: Resolver, { name, value }: SpfMechanism): Promise<SpfTrial[]> {
  const permitting: Resolver = {
    ...resolver,
    a: async (host) => (name === "a" && host === value ? found([standIn]) : resolver.a(host)),
    async txt(domain) {
      const lookup = await resolver.txt(domain);
      return name === "include" && domain === value ? withStandIn(lookup) : lookup;
    },
  };
  const reaching: SpfTrial = { ip: standIn, of: null, resolver: permitting };
  if (name !== "include" || (await isMissing(resolver, value))) return [reaching];
  return [reaching, { ip: standIn, of: null, resolver, orNoMatch: true }];
}

/** True if DNS says that the name has no SPF record. */
export async function isMissing(resolver: Resolver, name: string): Promise<boolean> {
  const lookup = await resolver.txt(name);
  return lookup.outcome === "missing" || (lookup.outcome === "found" && spfRecordsIn(lookup.records).length === 0);
}

function withStandIn(lookup: Lookup<string>): Lookup<string> {
  if (lookup.outcome === "temporary_failure") return lookup;
  const records = lookup.outcome === "found" ? spfRecordsIn(lookup.records) : [];
  if (records.length === 0) return found([`v=spf1 ip4:${standIn}`]);
  return found(records.map((text) => text.replace(/^v=spf1/i, `v=spf1 ip4:${standIn}`)));
}

const found = (records: string[]): Lookup<string> => ({ outcome: "found", records });
