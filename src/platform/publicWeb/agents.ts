import { lookup as systemLookup } from "node:dns";
import { Agent } from "undici";
import type { Resolver } from "#src/platform/dns/resolver.ts";
import { isAllowedHost, isPrivateHost } from "./hosts.ts";
import { type ConnectLookup, publicLookup } from "./publicLookup.ts";

export type PublicWebOptions = {
  /** `host` or `host:port` that may be private, resolve to private addresses, and use plain http. */
  allowedHosts: readonly string[];
  /** Resolver for all other hosts. */
  resolver: Pick<Resolver, "a" | "aaaa">;
  timeoutMs?: number;
  /** Look-up for allowed hosts; the system's by default. */
  lookup?: ConnectLookup;
  /** Certificates to trust instead of the system's. */
  ca?: string;
};

export type PublicAgents = {
  /** Returns the agent that connects to a URL; undefined if it is neither public https nor allowed by the operator. */
  agentFor(url: URL): Agent | undefined;
  close(): Promise<void>;
};

/**
 * Connects to addresses named by strangers. Each is checked by the same look-up that is used to connect, so a name that resolves
 * differently the next time gains nothing. Follows no redirect and uses no proxy.
 */
export function createPublicAgents(options: PublicWebOptions): PublicAgents {
  const { allowedHosts, resolver, timeoutMs = 15_000, lookup = systemLookup as ConnectLookup, ca } = options;
  const agentWith = (look: ConnectLookup) =>
    new Agent({ pipelining: 0, connect: { lookup: look as never, timeout: timeoutMs, ...(ca ? { ca } : {}) } });
  const strict = agentWith(publicLookup(resolver));
  const trusting = agentWith(lookup);
  return {
    agentFor(url) {
      if (isAllowedHost(url, allowedHosts)) return trusting;
      return url.protocol === "https:" && !isPrivateHost(url) ? strict : undefined;
    },
    async close() {
      await Promise.all([strict.destroy(), trusting.destroy()]);
    },
  };
}
