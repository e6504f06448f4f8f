import type { DomainFacts, DomainRecord } from "#streams/domain/events.ts";
import { registrableDomain } from "./names.ts";

export type RecordSettings = {
  /** Where mail for domains comes in. */
  inboundMxHost: string;
  /** Whose SPF record lists the servers that the service sends through; null: mail leaves from the host that it comes in at. */
  spfInclude: string | null;
};

export type ExpectedRecord = {
  record: DomainRecord;
  type: "TXT" | "MX";
  /** As a registrar's form wants it: without the registered domain; "@" for that domain itself. */
  host: string;
  fqdn: string;
  value: string;
  purpose: string;
  /** Of MX records. */
  priority: number | null;
};

const mxPriority = 10;

/** The part of the SPF record that has to be there. */
export const spfMechanism = ({ inboundMxHost, spfInclude }: RecordSettings): string =>
  spfInclude === null ? `a:${inboundMxHost}` : `include:${spfInclude}`;

type Facts = Pick<DomainFacts, "name" | "mailDomain" | "token" | "sendingToken" | "selector" | "publicKey">;

/** The records that a domain needs, in the order in which they are shown. */
export function expectedRecords(domain: Facts, settings: RecordSettings): ExpectedRecord[] {
  const { mailDomain } = domain;
  const zone = registrableDomain(domain.name) ?? domain.name;
  const txt = (record: DomainRecord, fqdn: string, value: string, purpose: string): ExpectedRecord => ({
    record,
    type: "TXT",
    host: relativeTo(zone, fqdn),
    fqdn,
    value,
    purpose,
    priority: null,
  });
  return [
    txt("ownership", `_service.${mailDomain}`, domain.token, "Proves that the domain is yours"),
    txt("spf", mailDomain, `v=spf1 ${spfMechanism(settings)} ~all`, "SPF: authorises the service to send"),
    txt(
      "dkim",
      `${domain.selector}._domainkey.${mailDomain}`,
      `v=DKIM1; k=rsa; p=${domain.publicKey}`,
      "DKIM: the key that outbound mail is signed with",
    ),
    txt(
      "sending",
      `_sending.${mailDomain}`,
      domain.sendingToken,
      "Verifies the sending identity, needed for inbound mail",
    ),
    {
      record: "mx",
      type: "MX",
      host: relativeTo(zone, mailDomain),
      fqdn: mailDomain,
      value: settings.inboundMxHost,
      purpose: "MX: routes inbound mail to the service",
      priority: mxPriority,
    },
  ];
}

const relativeTo = (zone: string, fqdn: string): string => (fqdn === zone ? "@" : fqdn.slice(0, -zone.length - 1));
