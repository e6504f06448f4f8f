import type { Lookup, Resolver } from "../resolver.ts";
import { readSpfRecord, type SpfMechanism, spfRecordsIn } from "./record.ts";

/** Maximum number of names that a mechanism leads to, and of hosts of a name's MX records. */
const maxNames = 10;

/**
 * Returns an address of each block that a mechanism permits, in the order of the records: the first one. Empty if it names no block, as
 * with macros. Undefined if DNS did not answer.
 */
export async function addressesOf(resolver: Resolver, mechanism: SpfMechanism): Promise<string[] | undefined> {
  const found = new Set<string>();
  let names = 0;

  async function visit({ qualifier, name, value }: SpfMechanism, domain: string): Promise<void> {
    if (qualifier !== "+") return;
    if (name === "ip4" || name === "ip6") found.add(value);
    else if (name === "include") await visitRecord(value);
    else if (name === "a") await addHosts([value || domain]);
    else if (name === "mx") await addExchanges(value || domain);
  }

  const isTooMuch = (name: string): boolean => name.includes("%") || ++names > maxNames;

  async function visitRecord(domain: string): Promise<void> {
    if (isTooMuch(domain)) return;
    const [record] = spfRecordsIn(answered(await resolver.txt(domain))).map(readSpfRecord);
    if (!record || "fault" in record) return;
    for (const each of record.mechanisms) {
      if (each.name === "all") return;
      await visit(each, domain);
    }
    if (record.redirect !== undefined) await visitRecord(record.redirect);
  }

  async function addExchanges(domain: string): Promise<void> {
    if (isTooMuch(domain)) return;
    const exchanges = answered(await resolver.mx(domain)).slice(0, maxNames);
    await addHosts(exchanges.map(({ exchange }) => exchange));
  }

  async function addHosts(hosts: readonly string[]): Promise<void> {
    for (const host of hosts) {
      if (isTooMuch(host)) return;
      const lookups = await Promise.all([resolver.a(host), resolver.aaaa(host)]);
      for (const address of lookups.flatMap(answered)) found.add(address);
    }
  }

  try {
    await visit(mechanism, "");
    return [...found];
  } catch (error) {
    if (error instanceof NoAnswer) return undefined;
    throw error;
  }
}

class NoAnswer extends Error {
  override readonly name = "NoAnswer";
}

function answered<T>(lookup: Lookup<T>): T[] {
  if (lookup.outcome === "temporary_failure") throw new NoAnswer(lookup.reason);
  return lookup.outcome === "found" ? lookup.records : [];
}
