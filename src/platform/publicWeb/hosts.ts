import ipaddr from "ipaddr.js";

/** True if the operator allows this host, or this host and port. */
export function isAllowedHost(url: URL, allowedHosts: readonly string[]): boolean {
  const host = hostOf(url);
  const port = url.port || (url.protocol === "https:" ? "443" : "80");
  return allowedHosts.some((allowed) => [host, `${host}:${port}`].includes(allowed.toLowerCase()));
}

/**
 * True for localhost and for an IP literal that is not a public address. The URL parser has normalised all notations. Names are looked up
 * later.
 */
export function isPrivateHost(url: URL): boolean {
  const host = hostOf(url);
  if (ipaddr.isValid(host)) return !isPublicAddress(host);
  return host === "localhost" || host.endsWith(".localhost");
}

const hostOf = (url: URL): string => url.hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");

const globalUnicast = ipaddr.IPv6.parseCIDR("2000::/3");

/** True for an address of the public internet. An address that embeds an IPv4 address is not: it could bypass the check. */
export function isPublicAddress(address: string): boolean {
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== "unicast") return false;
  return parsed.kind() === "ipv4" || parsed.match(globalUnicast);
}
