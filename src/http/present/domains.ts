import type { Static } from "typebox";
import type { DomainRow } from "#projections/domains/queries.ts";
import {
  advisedRecords,
  type ExpectedRecord,
  expectedRecords,
  type RecordSettings,
} from "#src/platform/dns/records.ts";
import type { Domain } from "../schemas/domains.ts";
import { timestamp, timestampOrNull } from "./times.ts";

export type WireDomain = Static<typeof Domain>;

/** Converts a domain to the contract's form, with its five DNS records, those that are advised, and their state. */
export function presentDomain(row: DomainRow, settings: RecordSettings): WireDomain {
  const { records } = row;
  const names = { name: row.domain_name, mailDomain: row.mail_domain };
  const shown = ({ record, ...expected }: ExpectedRecord<keyof typeof records>) => {
    const { found: status, reason } = records[record];
    return { ...expected, status, reason };
  };
  const expected = expectedRecords(
    {
      ...names,
      token: row.verification_token,
      sendingToken: row.sending_token,
      selector: row.dkim_selector,
      publicKey: row.dkim_public_key,
      registration: row.registration,
    },
    settings,
  );
  return {
    id: row.id,
    workspace_id: row.workspace_id,
    domain_name: row.domain_name,
    sandbox: false,
    status: row.status,
    dkim_status: records.dkim.status,
    spf_status: records.spf.status,
    mx_status: records.mx.status,
    ownership_status: records.ownership.status,
    verification_token: row.verification_token,
    has_existing_mx: row.has_existing_mx,
    recommended_subdomain: row.recommended_subdomain,
    inbound_subdomain: row.inbound_subdomain,
    dns_provider_hint: row.dns_provider_hint,
    verification_last_checked_at: timestampOrNull(row.verification_last_checked_at),
    verification_attempts: row.verification_attempts,
    dns_records: expected.map(shown),
    advised_records: advisedRecords(names).map(shown),
    created_at: timestamp(row.created_at),
    verified_at: timestampOrNull(row.verified_at),
  };
}

/** The sandbox domain, verified in every workspace from the start, under an id that differs by workspace. */
export const presentSandbox = (
  workspace: { id: string; created_at: Date },
  id: string,
  sandboxDomain: string,
): WireDomain => ({
  id,
  workspace_id: workspace.id,
  domain_name: sandboxDomain,
  sandbox: true,
  status: "verified",
  dkim_status: "verified",
  spf_status: "verified",
  mx_status: "verified",
  ownership_status: "verified",
  verification_token: "",
  has_existing_mx: null,
  recommended_subdomain: null,
  inbound_subdomain: null,
  dns_provider_hint: null,
  verification_last_checked_at: null,
  verification_attempts: null,
  dns_records: [],
  advised_records: [],
  created_at: timestamp(workspace.created_at),
  verified_at: timestamp(workspace.created_at),
});
