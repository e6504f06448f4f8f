import type { LookupAddress, LookupOptions } from "node:dns";
import type { Resolver } from "#src/platform/dns/resolver.ts";
import { isPublicAddress } from "./hosts.ts";

/** Look-up of addresses for a connection, in the form of node's dns.lookup. */
export type ConnectLookup = (
  name: string,
  options: LookupOptions,
  found: (error: Error | null, addresses: string | LookupAddress[], family?: number) => void,
) => void;

/**
 * Resolves a name to public addresses, for the connection itself: the checked address is the one connected to. Refuses a name with any
 * non-public address. Uses only DNS: the machine's own names must not be revealed.
 */
export const publicLookup =
  (resolver: Pick<Resolver, "a" | "aaaa">): ConnectLookup =>
  (name, options, found) => {
    addressesOf(resolver, name).then(
      (all) => {
        const family = options.family === "IPv4" ? 4 : options.family === "IPv6" ? 6 : (options.family ?? 0);
        const [first, ...rest] = all.filter((each) => family === 0 || each.family === family);
        if (!first) found(new Error(`the host's name has no address of IPv${family}`), []);
        else if (options.all) found(null, [first, ...rest]);
        else found(null, first.address, first.family);
      },
      (error) => found(error, []),
    );
  };

async function addressesOf(resolver: Pick<Resolver, "a" | "aaaa">, name: string): Promise<LookupAddress[]> {
  const [four, six] = await Promise.all([resolver.a(name), resolver.aaaa(name)]);
  const of = (answer: typeof four, family: number): LookupAddress[] =>
    answer.outcome === "found" ? answer.records.map((address) => ({ address, family })) : [];
  const all = [...of(four, 4), ...of(six, 6)];
  if (!all.every(({ address }) => isPublicAddress(address))) {
    throw new Error("the host's name resolves to an address that is not public");
  }
  if (all.length > 0) return all;
  for (const answer of [four, six]) {
    if (answer.outcome === "temporary_failure")
      throw new Error(`the host's name cannot be looked up: ${answer.reason}`);
  }
  throw new Error("the host's name has no address");
}
