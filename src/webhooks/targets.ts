import ipaddr from "ipaddr.js";

/** Where a webhook may point: https and public addresses, but for hosts that the operator allows (decisions 11). */

const maxUrlBytes = 2048;

const orAllowed = "or one that the operator names in WEBHOOK_ALLOWED_HOSTS";
const notHttps = "expected an https URL; http is for hosts that the operator names in WEBHOOK_ALLOWED_HOSTS";

/** What is wrong with a URL as a webhook's target, as the end of a sentence that begins with the field; undefined where nothing is. */
export function targetFault(text: string, allowedHosts: readonly string[]): string | undefined {
  if (Buffer.byteLength(text) > maxUrlBytes) return `expected a URL of at most ${maxUrlBytes} bytes`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) return notHttps;
  if (url.username !== "" || url.password !== "") {
    return "expected a URL without user name and password; check the signature instead";
  }
  if (isAllowedHost(url, allowedHosts)) return undefined;
  if (url.protocol !== "https:") return notHttps;
  return isPrivateHost(url) ? `expected a host on the public internet, ${orAllowed}` : undefined;
}

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
