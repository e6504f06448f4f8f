import { asciiName, domainOfAddress } from "#src/platform/dns/names.ts";
import type { Authentication, AuthenticationResult } from "#streams/thread/events.ts";
import type { DmarcPolicy } from "./dmarc.ts";
import { addressFields, type FieldCounts, type Findings } from "./findings.ts";

/** The sender as the service reads and shows it: only a proof for exactly this address counts. */
export type ClaimedSender = { address: string | null; fromCount: number };

/** What DNS says about the From domain. `organizations`: of `comparedDomains`; undefined if DNS did not answer. */
export type FromDomain = { policy: DmarcPolicy; organizations: ReadonlyMap<string, string | undefined> };

/**
 * Concludes from the findings what is proven about the sender. Compares alignment itself, domain by domain, because the library takes
 * strict for relaxed (RFC 9989, 4.4). A mail with more than one From address proves nothing; the same holds if the library reads another
 * From address than this service.
 */
export function concludeFindings(
  { address, fromCount }: ClaimedSender,
  findings: Findings,
  { policy, organizations }: FromDomain,
): Authentication {
  const { spf, arc } = findings;
  const dkim = dkimOf(findings);
  const only = { spf: spf.result, dkim, arc };
  if (address === null) return { ...only, dmarc: "none", aligned: false };
  if (fromCount !== 1 || findings.from.length !== 1 || !sameAddress(findings.from[0] as string, address)) {
    return { ...only, dmarc: "permerror", aligned: false };
  }
  const isAligned = alignmentWith(domainOfAddress(address), organizations);
  const strict = strictnessOf(policy);
  const identifiers = [
    { result: spf.result, aligned: isAligned(spf.domain, strict.spf) },
    ...findings.signatures.map(({ result, domain }) => ({ result, aligned: isAligned(domain, strict.dkim) })),
  ];
  const proven = identifiers.some(({ result, aligned }) => result === "pass" && aligned === true);
  // A check that failed temporarily might have been the proof.
  const isOpen = identifiers.some(({ result, aligned }) =>
    result === "pass" ? aligned === undefined : result === "temperror" && aligned !== false,
  );
  const judged = proven ? "pass" : isOpen ? "temperror" : "fail";
  const dmarc = policy.kind === "policy" ? judged : policy.kind;
  const aligned = proven && (dmarc === "pass" || dmarc === "none");
  const speaking = findings.signatures.filter(
    ({ result, domain }) => result === "pass" && isAligned(domain, strict.dkim),
  );
  const covers = aligned ? coveredFields(speaking, findings.occurring) : [];
  return { ...only, dmarc, aligned, ...(covers.length > 0 && { covers }) };
}

/**
 * Lists the domains whose organizational domains decide whether a passing check is aligned. Empty if identical names alone count: under
 * strict alignment, and without a policy, because an organizational domain is one that has a policy.
 */
export function comparedDomains(address: string, { spf, signatures }: Findings, policy: DmarcPolicy): string[] {
  if (policy.kind !== "policy") return [];
  const from = domainOfAddress(address);
  const strict = strictnessOf(policy);
  const checks = [...(strict.spf ? [] : [spf]), ...(strict.dkim ? [] : signatures)];
  const others = checks
    .filter(({ result }) => result === "pass" || result === "temperror")
    .map(({ domain }) => asciiName(domain))
    .filter((domain) => domain !== from && lastLabel(domain) === lastLabel(from));
  return others.length === 0 ? [] : [...new Set([from, ...others])];
}

const lastLabel = (domain: string): string => domain.slice(domain.lastIndexOf(".") + 1);

const strictnessOf = (policy: DmarcPolicy): { dkim: boolean; spf: boolean } =>
  policy.kind === "policy" ? { dkim: policy.strictDkim, spf: policy.strictSpf } : { dkim: false, spf: false };

/** Returns a function that compares a domain with the From domain. Its result is undefined if DNS did not answer. */
function alignmentWith(from: string, organizations: FromDomain["organizations"]) {
  return (domain: string, strict: boolean): boolean | undefined => {
    const name = asciiName(domain);
    if (name === "" || from === "") return false;
    if (name === from) return true;
    if (strict || !organizations.has(name)) return false;
    const [one, other] = [organizations.get(name), organizations.get(from)];
    return one === undefined || other === undefined ? undefined : one === other;
  };
}

/**
 * Lists the address fields whose every occurrence is covered by one of these signatures, which are aligned and pass. SPF covers no field.
 */
function coveredFields(speaking: Findings["signatures"], occurring: FieldCounts) {
  const isCovered = (field: keyof FieldCounts) =>
    occurring[field] > 0 && speaking.some(({ signed }) => signed[field] >= occurring[field]);
  return addressFields.filter(isCovered).map((field) => (field === "reply-to" ? "reply_to" : field));
}

const bestFirst = ["pass", "temperror", "fail", "permerror", "neutral"] as const;

const dkimOf = ({ signatures }: Findings): AuthenticationResult =>
  bestFirst.find((result) => signatures.some((signature) => signature.result === result)) ?? "none";

const sameAddress = (one: string, other: string): boolean => {
  const folded = (address: string) =>
    `${address.slice(0, address.lastIndexOf("@")).toLowerCase()}@${domainOfAddress(address)}`;
  return folded(one) === folded(other);
};
