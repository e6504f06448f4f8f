import { asciiName, domainOfAddress, registrableDomain } from "#src/platform/dns/names.ts";
import type { Authentication, AuthenticationResult } from "#streams/thread/events.ts";
import type { DmarcPolicy } from "./dmarc.ts";
import { addressFields, type FieldCounts, type Findings } from "./findings.ts";

/** The sender as the service reads and shows it: only a proof for exactly this address counts. */
export type ClaimedSender = { address: string | null; fromCount: number };

/**
 * Concludes from the findings what is proven about the sender. Compares alignment itself, domain by domain, because the library takes
 * strict for relaxed (RFC 7489 section 3.1). A mail with more than one From address proves nothing; the same holds if the library reads
 * another From address than this service.
 */
export function concludeFindings(
  { address, fromCount }: ClaimedSender,
  findings: Findings,
  policy: DmarcPolicy,
): Authentication {
  const { spf, arc } = findings;
  const dkim = dkimOf(findings);
  const only = { spf: spf.result, dkim, arc };
  if (address === null) return { ...only, dmarc: "none", aligned: false };
  if (fromCount !== 1 || findings.from.length !== 1 || !sameAddress(findings.from[0] as string, address)) {
    return { ...only, dmarc: "permerror", aligned: false };
  }
  const dmarc = dmarcOf(domainOfAddress(address), findings, policy);
  const strict = policy.kind === "policy" && { dkim: policy.strictDkim, spf: policy.strictSpf };
  const proven = alignedWith(domainOfAddress(address), findings, { result: "pass", strict: strict || relaxed });
  const aligned = dmarc === "pass" || (dmarc === "none" && proven);
  const covers = aligned ? coveredFields(domainOfAddress(address), findings, (strict || relaxed).dkim) : [];
  return { ...only, dmarc, aligned, ...(covers.length > 0 && { covers }) };
}

/**
 * Lists the address fields whose every occurrence is covered by an aligned signature. SPF covers no field; a signature of another domain
 * does not count.
 */
function coveredFields(domain: string, { signatures, occurring }: Findings, strict: boolean) {
  const speaking = signatures.filter((each) => each.result === "pass" && isAligned(each.domain, domain, strict));
  const isCovered = (field: keyof FieldCounts) =>
    occurring[field] > 0 && speaking.some(({ signed }) => signed[field] >= occurring[field]);
  return addressFields.filter(isCovered).map((field) => (field === "reply-to" ? "reply_to" : field));
}

type Strictness = { dkim: boolean; spf: boolean };
const relaxed: Strictness = { dkim: false, spf: false };

function dmarcOf(domain: string, findings: Findings, policy: DmarcPolicy): AuthenticationResult {
  if (policy.kind !== "policy") return policy.kind;
  const strict = { dkim: policy.strictDkim, spf: policy.strictSpf };
  if (alignedWith(domain, findings, { result: "pass", strict })) return "pass";
  // A check that failed temporarily might have been the proof.
  return alignedWith(domain, findings, { result: "temperror", strict }) ? "temperror" : "fail";
}

/** True if a check with this result is aligned with the domain. */
const alignedWith = (
  domain: string,
  { spf, signatures }: Findings,
  { result, strict }: { result: "pass" | "temperror"; strict: Strictness },
): boolean =>
  signatures.some((each) => each.result === result && isAligned(each.domain, domain, strict.dkim)) ||
  (spf.result === result && isAligned(spf.domain, domain, strict.spf));

function isAligned(checked: string, from: string, strict: boolean): boolean {
  const [one, other] = [asciiName(checked), asciiName(from)];
  if (one === "" || other === "") return false;
  if (one === other) return true;
  const registered = registrableDomain(one);
  return !strict && registered !== null && registered === registrableDomain(other);
}

const bestFirst = ["pass", "temperror", "fail", "permerror", "neutral"] as const;

const dkimOf = ({ signatures }: Findings): AuthenticationResult =>
  bestFirst.find((result) => signatures.some((signature) => signature.result === result)) ?? "none";

const sameAddress = (one: string, other: string): boolean => {
  const folded = (address: string) =>
    `${address.slice(0, address.lastIndexOf("@")).toLowerCase()}@${domainOfAddress(address)}`;
  return folded(one) === folded(other);
};
