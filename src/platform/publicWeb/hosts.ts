import ipaddr from "ipaddr.js";

/** Whether the operator named this host, or this host and port. */
export function isAllowedHost(url: URL, allowedHosts: readonly string[]): boolean {
  const host = hostOf(url);
  const port = url.port || (url.protocol === "https:" ? "443" : "80");
  return allowedHosts.some((allowed) => [host, `${host}:${port}`].includes(allowed.toLowerCase()));
}

/** A literal that is no public address, in whatever form it was written: the URL parser has made one of all of them. Names are looked up later. */
export function isPrivateHost(url: URL): boolean {
  const host = hostOf(url);
  if (ipaddr.isValid(host)) return !isPublicAddress(host);
  return host === "localhost" || host.endsWith(".localhost");
}

const hostOf = (url: URL): string => url.hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");

const globalUnicast = ipaddr.IPv6.parseCIDR("2000::/3");

/** Whether an IP address is one of the public internet. What carries an IPv4 address inside is none: it would be a way around. */
export function isPublicAddress(address: string): boolean {
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== "unicast") return false;
  return parsed.kind() === "ipv4" || parsed.match(globalUnicast);
}
