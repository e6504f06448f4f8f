import { counted } from "#src/html/counted.ts";
import { isLoopbackHost } from "../../framework/trustedCallers.ts";
import type { WireDomain } from "../../present/domains.ts";

export type ShownDomain = WireDomain;
export type DnsRecord = ShownDomain["dns_records"][number];

type DomainStatus = {
  /** A few words. */
  short: string;
  /** A sentence. */
  long: string;
  /** `wait`: something is to be done or awaited. */
  tone: "good" | "wait" | "bad";
};

/** The status of a domain in words. */
export function statusInWords({
  status,
  sandbox,
  dns_records: records = [],
}: Pick<ShownDomain, "status" | "sandbox"> & Partial<Pick<ShownDomain, "dns_records">>): DomainStatus {
  if (sandbox) {
    return {
      short: "works at once",
      long: "The sandbox domain belongs to the service. You do not need to add DNS records.",
      tone: "good",
    };
  }
  switch (status) {
    case "verified":
      return verifiedInWords(records.filter(({ status }) => status === "failed").length);
    case "pending":
      return {
        short: "not verified yet",
        long: "Add the records below at your DNS provider. Until all of them are found, no mail is received or sent.",
        tone: "wait",
      };
    case "failed":
      return {
        short: "not verified",
        long: "Records are missing or different, so mail may not arrive and none is sent. Correct them, then press “Check now”: they are not checked automatically.",
        tone: "bad",
      };
  }
}

function verifiedInWords(wrong: number): DomainStatus {
  if (wrong === 0) return { short: "verified", long: found, tone: "good" };
  const short = `verified, but ${counted(wrong, "record is", "records are")} wrong`;
  return { short, long: failing, tone: "wait" };
}

const found = "All records were found. Mail can be received and sent.";
const failing =
  "Records are missing or different, so mail may not arrive. Correct them: if three checks that are at least six hours apart fail, no mail is sent any more.";

/** The state of a DNS record, in words. */
export const recordInWords: Record<DnsRecord["status"], string> = {
  pending: "not checked yet",
  verified: "found",
  failed: "missing or different",
  temporary_failure: "DNS did not answer; will be checked again",
};

/** Counts the records that were found: "3 of 5 records found". */
export function foundInWords(records: readonly DnsRecord[]): string {
  const found = records.filter(({ status }) => status === "verified").length;
  return `${found} of ${records.length} records found`;
}

/** The part after the @ of the addresses of a domain. */
export const receivingName = ({
  domain_name,
  inbound_subdomain,
}: Pick<ShownDomain, "domain_name" | "inbound_subdomain">) =>
  inbound_subdomain === null ? domain_name : `${inbound_subdomain}.${domain_name}`;

/** True if these records would redirect the domain's existing mail: it receives mail already, and no subdomain is used. */
export const takesOverMail = ({ has_existing_mx, inbound_subdomain }: ShownDomain): boolean =>
  has_existing_mx === true && inbound_subdomain === null;

/**
 * The host of an MX record that no other mail server can reach, because the service's host name is not configured. Undefined if there is
 * none.
 */
export const unreachableHost = (records: readonly Pick<DnsRecord, "type" | "value">[]): string | undefined =>
  records.find(({ type, value }) => type === "MX" && isLoopbackHost(value))?.value;
