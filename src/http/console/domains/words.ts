import { isLoopbackHost } from "../../framework/insiders.ts";
import type { WireDomain } from "../../present/domains.ts";

export type Domain = WireDomain;
export type DnsRecord = Domain["dns_records"][number];

/** The status of a domain, in a few words and as a sentence. */
export function statusInWords({ status, sandbox }: Pick<Domain, "status" | "sandbox">): {
  short: string;
  long: string;
} {
  if (sandbox) {
    return {
      short: "works at once",
      long: "The sandbox domain is the service's own, and needs no DNS records of yours.",
    };
  }
  switch (status) {
    case "verified":
      return { short: "verified", long: "Its records are in place: mail comes in, and mail from it leaves." };
    case "pending":
      return {
        short: "waiting for its records",
        long: "Add the records below at your DNS provider. Until all of them are found, mail does not come in and nothing leaves.",
      };
    case "failed":
      return {
        short: "not verified",
        long: "Records are missing or different, so mail may not come in and nothing leaves. Mend them, then check again: it is not looked at by itself.",
      };
  }
}

/** The state of a DNS record, in words. */
export const recordInWords: Record<DnsRecord["status"], string> = {
  pending: "not looked at yet",
  verified: "found",
  failed: "missing or different",
  temporary_failure: "DNS did not answer: it is asked again",
};

/** Counts the records that were found: "3 of 5 records found". */
export function foundInWords(records: readonly DnsRecord[]): string {
  const found = records.filter(({ status }) => status === "verified").length;
  return `${found} of ${records.length} records found`;
}

/** The part after the @ of the addresses of a domain. */
export const receivingName = ({ domain_name, inbound_subdomain }: Pick<Domain, "domain_name" | "inbound_subdomain">) =>
  inbound_subdomain === null ? domain_name : `${inbound_subdomain}.${domain_name}`;

/** True if these records would redirect the domain's existing mail: it receives mail already, and no subdomain is used. */
export const takesOverMail = ({ has_existing_mx, inbound_subdomain }: Domain): boolean =>
  has_existing_mx === true && inbound_subdomain === null;

/**
 * The host of an MX record that no other mail server can reach, because the service's host name is not configured. Undefined if there is
 * none.
 */
export const unreachableHost = (records: readonly Pick<DnsRecord, "type" | "value">[]): string | undefined =>
  records.find(({ type, value }) => type === "MX" && isLoopbackHost(value))?.value;
