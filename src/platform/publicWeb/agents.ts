import { lookup as systemLookup } from "node:dns";
import { Agent } from "undici";
import type { Resolver } from "#src/platform/dns/resolver.ts";
import { isAllowedHost, isPrivateHost } from "./hosts.ts";
import { type ConnectLookup, publicLookup } from "./publicLookup.ts";

export type PublicWebOptions = {
  /** `host` or `host:port` that may be private, resolve to private addresses, and be plain http. */
  allowedHosts: readonly string[];
  /** For every other host. */
  resolver: Pick<Resolver, "a" | "aaaa">;
  timeoutMs?: number;
  /** For allowed hosts; the system's by default. */
  lookup?: ConnectLookup;
  /** Certificates to trust instead of the system's. */
  ca?: string;
};

export type PublicAgents = {
  /** What connects to a URL; undefined for one that is not on the public internet by https, nor allowed by the operator. */
  agentFor(url: URL): Agent | undefined;
  close(): Promise<void>;
};

/**
 * Connections to addresses that strangers name. Each is checked by the very look-up that connects: a name that answers differently the next
 * time gains nothing. They follow no redirect and know no proxy.
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
