import { createHash } from "node:crypto";
import { asciiName, isHostName, registrableDomain } from "#src/platform/dns/names.ts";
import { invalidRequest } from "#streams/decider.ts";
import type { DomainName } from "#streams/domainName/decider.ts";
import type { Dependencies } from "../dependencies.ts";

export type DomainNames = { name: string; subdomain: string | null; mailDomain: string };

/** A domain and its names. */
export type NamesOfDomain = { domainId: string; names: Pick<DomainNames, "name" | "mailDomain"> };

/** Names that cannot be registered, or that have a special meaning for computers (RFC 6761 and similar). */
const reserved = ["localhost", "local", "invalid", "internal", "onion", "arpa", "alt"];

/** Maximum length of a name in characters; leaves room for the longest prefix of a DNS record. */
const maxNameLength = 200;

/**
 * Normalises the names of a new domain to punycode and lower case, without a final dot. The subdomain may be given with or without the
 * domain's name. Throws Rejected invalid_request.
 */
export function readDomainNames(
  settings: Dependencies["settings"],
  given: string,
  subdomain: string | null,
): DomainNames {
  const name = readName(given);
  requireNotOurs(settings, name);
  requireRegistrable(name);
  const relative = subdomain === null || subdomain === "" ? null : readSubdomain(name, subdomain);
  const mailDomain = relative === null ? name : `${relative}.${name}`;
  if (mailDomain.length > maxNameLength) {
    throw invalidRequest(
      "domain_name",
      `this name is too long: expected at most ${maxNameLength} characters, inbound_subdomain included`,
    );
  }
  requireNotOurs(settings, mailDomain);
  return { name, subdomain: relative, mailDomain };
}

/** Rejects the service's own domains: the sandbox domain belongs to every workspace already. */
function requireNotOurs({ sandboxDomain, approvalsFrom }: Dependencies["settings"], name: string): void {
  if (name !== sandboxDomain && name !== domainPart(approvalsFrom)) return;
  throw invalidRequest("domain_name", "this domain belongs to the service itself: use your own domain", {
    conflict: true,
  });
}

function readName(given: string): string {
  const name = asciiName(given.trim());
  if (!isHostName(name) || /[\s/@:_]/.test(given.trim())) {
    throw invalidRequest(
      "domain_name",
      "expected a plain domain name such as example.com, without https://, a path or an address",
    );
  }
  return name;
}

function requireRegistrable(name: string): void {
  if (reserved.includes(name.slice(name.lastIndexOf(".") + 1))) {
    throw invalidRequest(
      "domain_name",
      `.${name.slice(name.lastIndexOf(".") + 1)} is reserved: use a registered domain`,
    );
  }
  if (registrableDomain(name) === null) {
    throw invalidRequest(
      "domain_name",
      "this is a public suffix, under which anyone can register: use your own domain, such as example.com",
    );
  }
}

function readSubdomain(name: string, given: string): string {
  const ascii = asciiName(given.trim());
  const relative = ascii.endsWith(`.${name}`) ? ascii.slice(0, -name.length - 1) : ascii;
  if (relative !== "" && isHostName(relative) && !/[\s/@:_]/.test(given)) return relative;
  throw invalidRequest("inbound_subdomain", `expected a subdomain of ${name}, such as mail, or null`);
}

const domainPart = (address: string): string => address.slice(address.lastIndexOf("@") + 1).toLowerCase();

/** Returns the id of a name's stream. The name is hashed, because a domain name can be as long as a whole stream id may be. */
export const nameId = (name: string): string => createHash("sha256").update(name.toLowerCase()).digest("hex");

/** Returns the names of a domain. They are always claimed together, so that no other workspace can prove one of them. */
export const namesOf = ({ name, mailDomain }: Pick<DomainNames, "name" | "mailDomain">): string[] => [
  ...new Set([name, mailDomain]),
];

export async function loadName(deps: Pick<Dependencies, "domainNames">, name: string): Promise<DomainName> {
  return (await deps.domainNames.load(nameId(name))).state;
}

/** True if mail for this domain arrives at the service: it belongs to a verified domain of any workspace. */
export async function receivesMailHere(deps: Pick<Dependencies, "domainNames">, domain: string): Promise<boolean> {
  return (await loadName(deps, domain)).verified?.receives === true;
}
