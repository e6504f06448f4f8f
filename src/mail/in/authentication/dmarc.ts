import { registrableDomain } from "#src/platform/dns/names.ts";
import type { Resolver } from "#src/platform/dns/resolver.ts";

/** The part of a domain's DMARC policy that matters here: whether a subdomain may speak for the domain. */
export type DmarcPolicy =
  | { kind: "policy"; strictDkim: boolean; strictSpf: boolean }
  | { kind: "none" }
  | { kind: "temperror" };

/** Finds the policy of a From domain: its own record, otherwise that of its registrable domain (RFC 7489, 6.6.3). */
export async function findDmarcPolicy(resolver: Pick<Resolver, "txt">, domain: string): Promise<DmarcPolicy> {
  const own = await policyAt(resolver, domain);
  const parent = registrableDomain(domain);
  if (own.kind !== "none" || parent === null || parent === domain) return own;
  return policyAt(resolver, parent);
}

async function policyAt(resolver: Pick<Resolver, "txt">, domain: string): Promise<DmarcPolicy> {
  const lookup = await resolver.txt(`_dmarc.${domain}`);
  if (lookup.outcome === "temporary_failure") return { kind: "temperror" };
  if (lookup.outcome === "missing") return { kind: "none" };
  const records = lookup.records.map(tagsOf).filter((tags) => tags[0]?.[0] === "v" && tags[0][1] === "DMARC1");
  // No record, or several of them, means no policy.
  if (records.length !== 1) return { kind: "none" };
  const tags = new Map(records[0]);
  const isStrict = (name: string): boolean => tags.get(name)?.toLowerCase() === "s";
  return { kind: "policy", strictDkim: isStrict("adkim"), strictSpf: isStrict("aspf") };
}

const tagsOf = (record: string): [name: string, value: string][] =>
  record
    .split(";")
    .map((tag) => tag.trim())
    .filter((tag) => tag !== "")
    .map((tag) => {
      const [name = "", ...value] = tag.split("=");
      return [name.trim().toLowerCase(), value.join("=").trim()];
    });
