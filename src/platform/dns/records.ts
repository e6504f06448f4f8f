import { isIPv4, isIPv6 } from "node:net";
import type {
  AdvisedRecord,
  DomainFacts,
  DomainRecord,
  ProvidersRecord,
  Registration,
} from "#streams/domain/events.ts";
import { registrableDomain } from "./names.ts";

export type RecordSettings = {
  /** Host that receives mail for domains. */
  inboundMxHost: string;
  /** Domain whose SPF record lists the sending servers; null if mail is sent from the host that receives it. */
  spfInclude: string | null;
  /** Name of the mail provider that determines the values of SPF, DKIM and the sending identity; absent if the service determines them. */
  recordsOf?: string | undefined;
};

export type ExpectedRecord<Name = DomainRecord> = {
  record: Name;
  type: "TXT" | "MX";
  /** Required value; "" until the mail provider has supplied it. */
  value: string;
  /** Host as entered in a registrar's form: without the registered domain; "@" for that domain itself. */
  host: string;
  fqdn: string;
  purpose: string;
  /** Priority of an MX record, otherwise null. */
  priority: number | null;
};

const mxPriority = 10;

/** Returns the mechanism that lets our servers send. SPF knows no name without a dot, such as that of a development install. */
export function spfMechanism({ inboundMxHost, spfInclude }: RecordSettings): string {
  if (spfInclude !== null) return `include:${spfInclude}`;
  if (inboundMxHost === "localhost") return "ip4:127.0.0.1";
  if (isIPv4(inboundMxHost)) return `ip4:${inboundMxHost}`;
  return isIPv6(inboundMxHost) ? `ip6:${inboundMxHost}` : `a:${inboundMxHost}`;
}

type RecordFacts = Pick<DomainFacts, "name" | "mailDomain" | "token" | "sendingToken" | "selector" | "publicKey"> & {
  registration?: Registration | null;
};

/** Returns the records that a domain needs, in display order. */
export function expectedRecords(domain: RecordFacts, settings: RecordSettings): ExpectedRecord[] {
  const own = ownRecords(domain, settings);
  const { recordsOf } = settings;
  if (recordsOf === undefined) return own;
  const given = domain.registration?.provider === recordsOf ? domain.registration.records : undefined;
  const zone = zoneOf(domain.name);
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

/** Returns the records that a domain should have besides. Any DMARC policy of the domain or above it will do. */
export const advisedRecords = ({ name, mailDomain }: Pick<RecordFacts, "name" | "mailDomain">) => [
  textRecord<AdvisedRecord>(zoneOf(name), {
    record: "dmarc",
    fqdn: `_dmarc.${mailDomain}`,
    value: "v=DMARC1; p=none",
    purpose: "DMARC: large mailbox providers refuse or mark mail of domains without a policy",
  }),
];

const zoneOf = (name: string): string => registrableDomain(name) ?? name;

type TextRecord<Name> = Pick<ExpectedRecord<Name>, "record" | "fqdn" | "value" | "purpose">;

const textRecord = <Name>(zone: string, { fqdn, ...shown }: TextRecord<Name>): ExpectedRecord<Name> => ({
  ...shown,
  type: "TXT",
  host: relativeTo(zone, fqdn),
  fqdn,
  priority: null,
});

function ownRecords(domain: RecordFacts, settings: RecordSettings): ExpectedRecord[] {
  const { mailDomain } = domain;
  const zone = zoneOf(domain.name);
  const txt = (record: TextRecord<DomainRecord>) => textRecord(zone, record);
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
