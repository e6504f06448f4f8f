import { type AdvisedRecord, type DomainEvent, domainRecords, type RecordFinding } from "#streams/domain/events.ts";
import type { Projection } from "../projection.ts";
import { foldRows } from "../rows.ts";
import type { StoredDnsRecord, StoredDnsRecords } from "./queries.ts";

const columns = [
  "id",
  "workspace_id",
  "domain_name",
  "inbound_subdomain",
  "mail_domain",
  "verification_token",
  "sending_token",
  "dkim_selector",
  "dkim_public_key",
  "registration",
  "status",
  "records",
  "has_existing_mx",
  "recommended_subdomain",
  "dns_provider_hint",
  "verification_last_checked_at",
  "verification_attempts",
  "created_at",
  "verified_at",
  "deleted_at",
] as const;

type Row = { id: string; records: StoredDnsRecords; status: string } & Record<string, unknown>;

const advisedRecords: readonly AdvisedRecord[] = ["dmarc"];

const unchecked = Object.fromEntries(
  [...domainRecords, ...advisedRecords].map((record) => [
    record,
    { status: "pending", found: "pending", reason: null },
  ]),
) as StoredDnsRecords;

function apply(row: Row, event: DomainEvent): Row {
  switch (event.type) {
    case "DomainAdded": {
      const { workspaceId, name, subdomain, mailDomain, token, sendingToken, selector, publicKey, at } = event.data;
      return {
        ...row,
        workspace_id: workspaceId,
        domain_name: name,
        inbound_subdomain: subdomain,
        mail_domain: mailDomain,
        verification_token: token,
        sending_token: sendingToken,
        dkim_selector: selector,
        dkim_public_key: publicKey,
        status: "pending",
        records: unchecked,
        created_at: at,
      };
    }
    case "DomainRegistered": {
      const { at: _, ...registration } = event.data;
      return { ...row, registration };
    }
    case "DomainCheckRequested":
      return row.status === "failed" ? { ...row, status: "pending" } : row;
    case "DomainChecked":
      return checked(row, event.data);
    case "DomainVerified":
      return { ...row, status: "verified", verified_at: event.data.at };
    case "DomainFailed":
    case "DomainLost":
      return { ...row, status: "failed" };
    case "DomainDeleted":
      return { ...row, deleted_at: event.data.at };
    default:
      return row;
  }
}

function checked(row: Row, check: Extract<DomainEvent, { type: "DomainChecked" }>["data"]): Row {
  const found = Object.entries({ ...check.records, ...check.advised }) as [keyof StoredDnsRecords, RecordFinding][];
  const records = found.map(([record, finding]) => [record, storedRecord(row.records[record], finding)]);
  return {
    ...row,
    records: { ...row.records, ...Object.fromEntries(records) },
    has_existing_mx: check.hasExistingMx ?? row.has_existing_mx,
    recommended_subdomain:
      check.recommendedSubdomain ?? (check.hasExistingMx === false ? null : row.recommended_subdomain),
    dns_provider_hint: check.dnsProvider ?? row.dns_provider_hint,
    verification_last_checked_at: check.at,
    verification_attempts: check.attempt,
  };
}

/** A DNS look-up without an answer does not change the record's status. */
const storedRecord = (before: StoredDnsRecord, { status: found, reason }: RecordFinding): StoredDnsRecord => ({
  ...{ found, reason },
  status: found === "temporary_failure" ? before.status : found,
});

/** Domains of workspaces, without their private keys. */
export const domains: Projection<DomainEvent> = {
  name: "domains",
  version: 3,
  tables: ["domains"],
  handles: [
    "DomainAdded",
    "DomainRegistered",
    "DomainCheckRequested",
    "DomainChecked",
    "DomainVerified",
    "DomainFailed",
    "DomainLost",
    "DomainDeleted",
  ],
  project: foldRows<Row, DomainEvent>({
    table: "domains",
    columns,
    empty: { records: unchecked, status: "pending" },
    evolve: apply,
  }),
};
