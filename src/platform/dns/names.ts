import { isIP } from "node:net";
import { domainToASCII, domainToUnicode } from "node:url";
import { parse } from "tldts";

/** With the suffixes of hosting services, whose customers are strangers to each other. */
const suffixes = { allowPrivateDomains: true } as const;

/** The domain that somebody registered: `example.co.uk` of `mail.example.co.uk`. Null of a public suffix, a single label or an address. */
export const registrableDomain = (name: string): string | null => parse(name, suffixes).domain;

/** Lower case, in ASCII (punycode), without the dot at the end; "" if it is not a domain name. */
export function asciiName(name: string): string {
  const ascii = domainToASCII(name.replace(/\.$/, "")).toLowerCase();
  return hasBrokenPunycode(ascii) ? "" : ascii;
}

/** Newer versions of Node let a label pass that stands for no letters (`xn--a`), and leave it as it is. */
const hasBrokenPunycode = (ascii: string): boolean =>
  ascii.includes("xn--") &&
  domainToUnicode(ascii)
    .split(".")
    .some((part) => part.startsWith("xn--"));

/** The part behind the last @, as asciiName has it. */
export const domainOfAddress = (address: string): string => asciiName(address.slice(address.lastIndexOf("@") + 1));

const label = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** A host name as DNS registers them: letters, digits and hyphens. */
export const isHostName = (name: string): boolean =>
  name.length <= 253 && isIP(name) === 0 && name.split(".").every((part) => label.test(part));
