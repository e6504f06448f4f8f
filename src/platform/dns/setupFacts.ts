import { sameHost } from "./checkRecords.ts";
import { registrableDomain } from "./names.ts";
import type { Resolver } from "./resolver.ts";

/** DNS facts that help a person to set up a domain's records. */
export type DnsSetupFacts = {
  /** True if the domain already receives mail elsewhere; null if DNS did not answer. */
  hasExistingMx: boolean | null;
  /** An unused subdomain for the agent's mail; null if none is needed, or none of the usual ones is free. */
  recommendedSubdomain: string | null;
  /** Name of its DNS provider, if known. */
  dnsProvider: string | null;
};

const usualSubdomains = ["mail", "inbox", "agents"];

export async function dnsSetupFactsOf(
  resolver: Resolver,
  { name, mailDomain }: { name: string; mailDomain: string },
  inboundMxHost: string,
): Promise<DnsSetupFacts> {
  const [hasExistingMx, dnsProvider] = await Promise.all([
    receivesElsewhere(resolver, name, inboundMxHost),
    dnsProviderOf(resolver, name),
  ]);
  const recommendedSubdomain = hasExistingMx ? await freeSubdomain(resolver, name, mailDomain) : null;
  return { hasExistingMx, recommendedSubdomain, dnsProvider };
}

async function receivesElsewhere(resolver: Resolver, name: string, inboundMxHost: string): Promise<boolean | null> {
  const lookup = await resolver.mx(name);
  if (lookup.outcome === "temporary_failure") return null;
  if (lookup.outcome === "missing") return false;
  // A single dot means that the domain accepts no mail (RFC 7505).
  return lookup.records.some(({ exchange }) => !["", "."].includes(exchange) && !sameHost(exchange, inboundMxHost));
}

async function freeSubdomain(resolver: Resolver, name: string, mailDomain: string): Promise<string | null> {
  for (const candidate of usualSubdomains.map((label) => `${label}.${name}`)) {
    if (candidate === mailDomain || (await isFree(resolver, candidate))) return candidate;
  }
  return null;
}

async function isFree(resolver: Resolver, name: string): Promise<boolean> {
  const lookups = await Promise.all([resolver.mx(name), resolver.a(name), resolver.aaaa(name), resolver.cname(name)]);
  return lookups.every(({ outcome }) => outcome === "missing");
}

/** DNS providers by a pattern of their name servers' names. */
const providers: readonly [RegExp, string][] = [
  [/\.ns\.cloudflare\.com$/, "Cloudflare"],
  [/\.awsdns-\d+\./, "Amazon Route 53"],
  [/\.domaincontrol\.com$/, "GoDaddy"],
  [/\.registrar-servers\.com$/, "Namecheap"],
  [/\.googledomains\.com$|^ns-cloud-.*\.google/, "Google Cloud DNS"],
  [/\.azure-dns\.(com|net|org|info)$/, "Azure DNS"],
  [/\.digitalocean\.com$/, "DigitalOcean"],
  [/\.gandi\.net$/, "Gandi"],
  [/\.(ovh|anycast\.me|ovh\.ca)(\.net)?$/, "OVHcloud"],
  [/\.hetzner\.(com|de)$|\.first-ns\.de$/, "Hetzner"],
  [/\.ui-dns\.(com|de|org|biz)$/, "IONOS"],
  [/\.dnsimple(-edge)?\.(com|net|org)$/, "DNSimple"],
  [/\.vercel-dns\.com$/, "Vercel"],
  [/\.nsone\.net$/, "NS1"],
  [/\.wixdns\.net$/, "Wix"],
  [/\.squarespacedns\.com$/, "Squarespace"],
  [/\.linode\.com$/, "Linode"],
  [/\.akam\.net$/, "Akamai"],
  [/\.dreamhost\.com$/, "DreamHost"],
  [/\.porkbun\.com$/, "Porkbun"],
];

/** Determines the provider from NS records, which may be at the registered domain above. */
async function dnsProviderOf(resolver: Resolver, name: string): Promise<string | null> {
  for (const zone of new Set([name, registrableDomain(name) ?? name])) {
    const lookup = await resolver.ns(zone);
    if (lookup.outcome !== "found") continue;
    const [server = ""] = lookup.records.map((host) => host.replace(/\.$/, "").toLowerCase()).sort();
    const known = providers.find(([servers]) => servers.test(server));
    return known ? known[1] : registrableDomain(server);
  }
  return null;
}
