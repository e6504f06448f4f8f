import type { Resolver } from "#src/platform/dns/resolver.ts";

/** DMARC policy of a From domain, as far as it matters here. `at`: the name whose record it is. */
export type DmarcPolicy =
  | { kind: "policy"; at: string; strictDkim: boolean; strictSpf: boolean }
  | { kind: "none" }
  | { kind: "temperror" };

export type DmarcTree = {
  /** Finds the policy that applies to mail from a domain: its own, its organizational domain's, or its public suffix's (RFC 9989, 4.10.1). */
  policyOf(domain: string): Promise<DmarcPolicy>;
  /** Finds the organizational domain of a domain (RFC 9989, 4.10.2). Undefined if DNS did not answer. */
  organizationOf(domain: string): Promise<string | undefined>;
};

/** A record on the way up. `applies`: false for a policy that receivers cannot read, and so do not apply. */
type Found = { at: string; psd: string | undefined; applies: boolean; strictDkim: boolean; strictSpf: boolean };
type Answer = Found | "none" | "temperror";

/** Walks up the DNS tree for DMARC records (RFC 9989). Each name is looked up once; domains are in ASCII and lower case. */
export function dmarcTree(resolver: Pick<Resolver, "txt">): DmarcTree {
  const answers = new Map<string, Promise<Answer>>();

  function recordAt(name: string): Promise<Answer> {
    const answer = answers.get(name) ?? lookUp(resolver, name);
    answers.set(name, answer);
    return answer;
  }

  /** Returns the records from the longest name to the shortest; undefined if DNS did not answer. */
  async function walk(domain: string): Promise<Found[] | undefined> {
    const found: Found[] = [];
    for (const name of namesOnTheWayUp(domain)) {
      const answer = await recordAt(name);
      if (answer === "temperror") return undefined;
      if (answer === "none") continue;
      found.push(answer);
      if (answer.psd === "y" || answer.psd === "n") break;
    }
    return found;
  }

  return {
    async policyOf(domain) {
      const own = await recordAt(domain);
      if (own === "temperror") return { kind: own };
      if (own !== "none") return policyIn(own);
      const found = await walk(domain);
      if (!found) return { kind: "temperror" };
      const organization = organizationIn(domain, found);
      // Without a record of the organizational domain, the last one is that of its public suffix.
      return policyIn(found.find(({ at }) => at === organization) ?? found.at(-1));
    },
    async organizationOf(domain) {
      const found = await walk(domain);
      return found && organizationIn(domain, found);
    },
  };
}

function policyIn(found: Found | undefined): DmarcPolicy {
  if (!found?.applies) return { kind: "none" };
  const { at, strictDkim, strictSpf } = found;
  return { kind: "policy", at, strictDkim, strictSpf };
}

/** Maximum number of labels of the names above the one at which a walk begins, so that a walk has at most eight look-ups. */
const maxLabels = 7;

/** Returns the names that a walk visits: the domain, then shorter and shorter ones. */
function namesOnTheWayUp(domain: string): string[] {
  const labels = domain.split(".");
  const above = labels.slice(1).slice(-maxLabels);
  return [domain, ...above.map((_, index) => above.slice(index).join("."))];
}

/** Selects the organizational domain of the domain at which a walk began. `found`: from the longest name to the shortest. */
function organizationIn(domain: string, found: readonly Found[]): string {
  for (const { at, psd } of found) {
    if (psd === "n") return at;
    if (psd === "y") return oneLabelBelow(at, domain);
  }
  return found.at(-1)?.at ?? domain;
}

/** Returns the part of the domain that is one label longer than a suffix of it; the domain itself if it is that suffix. */
const oneLabelBelow = (suffix: string, domain: string): string =>
  domain
    .split(".")
    .slice(-suffix.split(".").length - 1)
    .join(".");

const version = /^[vV][ \t]*=[ \t]*DMARC1[ \t]*(;|$)/;

async function lookUp(resolver: Pick<Resolver, "txt">, name: string): Promise<Answer> {
  const lookup = await resolver.txt(`_dmarc.${name}`);
  if (lookup.outcome === "temporary_failure") return "temperror";
  if (lookup.outcome === "missing") return "none";
  const records = lookup.records.filter((text) => version.test(text));
  // Several records count as none.
  return records.length === 1 ? read(name, records[0] as string) : "none";
}

const policies: readonly (string | undefined)[] = ["none", "quarantine", "reject"];

function read(at: string, record: string): Found {
  const tags = tagsOf(record);
  const lower = (name: string): string | undefined => tags.get(name)?.toLowerCase();
  const isPolicy = (name: string) => !tags.has(name) || policies.includes(lower(name));
  // Policies that cannot be read count as p=none if reports are wanted, and otherwise there is no policy.
  const applies = ["p", "sp", "np"].every(isPolicy) || /^\s*[a-z][a-z0-9+.-]*:\S/i.test(tags.get("rua") ?? "");
  return { at, psd: lower("psd"), applies, strictDkim: lower("adkim") === "s", strictSpf: lower("aspf") === "s" };
}

/** Reads the tags of a record. Unreadable ones are ignored. */
const tagsOf = (record: string): Map<string, string> =>
  new Map(
    record.split(";").flatMap((tag) => {
      const at = tag.indexOf("=");
      return at < 0 ? [] : [[tag.slice(0, at).trim().toLowerCase(), tag.slice(at + 1).trim()] as const];
    }),
  );
