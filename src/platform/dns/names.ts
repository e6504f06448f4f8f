import { isIP } from "node:net";
import { domainToASCII, domainToUnicode } from "node:url";
import { parse } from "tldts";

/** Includes the suffixes of hosting services, whose customers are unrelated to each other. */
const suffixes = { allowPrivateDomains: true } as const;

/** Returns the registered domain: `example.co.uk` of `mail.example.co.uk`. Null for a public suffix, a single label or an IP address. */
export const registrableDomain = (name: string): string | null => parse(name, suffixes).domain;

/** Returns the name in lower case, in ASCII (punycode), without a trailing dot; "" if it is not a domain name. */
export function asciiName(name: string): string {
  const ascii = domainToASCII(name.replace(/\.$/, "")).toLowerCase();
  return hasBrokenPunycode(ascii) ? "" : ascii;
}

/** Detects labels that encode no characters (`xn--a`): newer versions of Node accept them unchanged. */
const hasBrokenPunycode = (ascii: string): boolean =>
  ascii.includes("xn--") &&
  domainToUnicode(ascii)
    .split(".")
    .some((part) => part.startsWith("xn--"));

/** Returns the domain of an address (after the last @), normalised by asciiName. */
export const domainOfAddress = (address: string): string => asciiName(address.slice(address.lastIndexOf("@") + 1));

const label = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** True for a host name as DNS registers them: letters, digits and hyphens. */
export const isHostName = (name: string): boolean =>
  name.length <= 253 && isIP(name) === 0 && name.split(".").every((part) => label.test(part));
