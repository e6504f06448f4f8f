import type { DomainFacts, DomainRecord, ProvidersRecord, Registration } from "#streams/domain/events.ts";
import { registrableDomain } from "./names.ts";

export type RecordSettings = {
  /** Where mail for domains comes in. */
  inboundMxHost: string;
  /** Whose SPF record lists the servers that the service sends through; null: mail leaves from the host that it comes in at. */
  spfInclude: string | null;
  /** The mail provider that gives the values of SPF, DKIM and the sending identity; absent: the service does. */
  recordsOf?: string | undefined;
};

export type ExpectedRecord = {
  record: DomainRecord;
  type: "TXT" | "MX";
  /** What DNS has to say; "" while the mail provider has not said it. */
  value: string;
  /** As a registrar's form wants it: without the registered domain; "@" for that domain itself. */
  host: string;
  fqdn: string;
  purpose: string;
  /** Of MX records. */
  priority: number | null;
};

const mxPriority = 10;

/** The part of the SPF record that has to be there. */
export const spfMechanism = ({ inboundMxHost, spfInclude }: RecordSettings): string =>
  spfInclude === null ? `a:${inboundMxHost}` : `include:${spfInclude}`;

type Facts = Pick<DomainFacts, "name" | "mailDomain" | "token" | "sendingToken" | "selector" | "publicKey"> & {
  registration?: Registration | null;
};

/** The records that a domain needs, in the order in which they are shown. */
export function expectedRecords(domain: Facts, settings: RecordSettings): ExpectedRecord[] {
  const own = ownRecords(domain, settings);
  const { recordsOf } = settings;
  if (recordsOf === undefined) return own;
  const given = domain.registration?.provider === recordsOf ? domain.registration.records : undefined;
  const zone = registrableDomain(domain.name) ?? domain.name;
  return own.flatMap((row): ExpectedRecord[] => {
    if (!isProviders(row.record)) return [row];
    if (!given) return [{ ...row, host: relativeTo(zone, domain.mailDomain), fqdn: domain.mailDomain, value: "" }];
    const theirs = given.filter(({ record }) => record === row.record);
    return theirs.map((each) => ({ ...each, host: relativeTo(zone, each.fqdn), purpose: row.purpose }));
  });
}

const providersRecords: readonly ProvidersRecord[] = ["spf", "dkim", "sending"];

export const isProviders = (record: DomainRecord): record is ProvidersRecord =>
  (providersRecords as readonly DomainRecord[]).includes(record);

function ownRecords(domain: Facts, settings: RecordSettings): ExpectedRecord[] {
  const { mailDomain } = domain;
  const zone = registrableDomain(domain.name) ?? domain.name;
  const txt = ({ fqdn, ...shown }: Pick<ExpectedRecord, "record" | "fqdn" | "value" | "purpose">): ExpectedRecord => ({
    ...shown,
    type: "TXT",
    host: relativeTo(zone, fqdn),
    fqdn,
    priority: null,
  });
  return [
    txt({
      record: "ownership",
      fqdn: `_service.${mailDomain}`,
      value: domain.token,
      purpose: "Proves that the domain is yours",
    }),
    txt({
      record: "spf",
      fqdn: mailDomain,
      value: `v=spf1 ${spfMechanism(settings)} ~all`,
      purpose: "SPF: authorises the service to send",
    }),
    txt({
      record: "dkim",
      fqdn: `${domain.selector}._domainkey.${mailDomain}`,
      value: `v=DKIM1; k=rsa; p=${domain.publicKey}`,
      purpose: "DKIM: the key that outbound mail is signed with",
    }),
    txt({
      record: "sending",
      fqdn: `_sending.${mailDomain}`,
      value: domain.sendingToken,
      purpose: "Verifies the sending identity, needed for inbound mail",
    }),
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
