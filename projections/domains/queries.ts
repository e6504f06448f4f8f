import type { AdvisedRecord, DomainRecord, DomainStatus, Registration } from "#streams/domain/events.ts";
import { newestFirst, type Page, readPage, type Window } from "../page.ts";
import type { Reads } from "../reads.ts";
import { rowById } from "../rowById.ts";

/** `status`: by the last answered check. `found`: result of the last check; `reason`: the values it found instead. */
export type StoredDnsRecord = {
  status: DomainStatus;
  found: DomainStatus | "temporary_failure";
  reason: string | null;
};

export type StoredDnsRecords = Record<DomainRecord | AdvisedRecord, StoredDnsRecord>;

/** Domain as in the API, as far as it is stored; the records it needs depend on the settings (src/platform/dns/records.ts). */
export type DomainRow = {
  id: string;
  workspace_id: string;
  domain_name: string;
  inbound_subdomain: string | null;
  mail_domain: string;
  verification_token: string;
  sending_token: string;
  dkim_selector: string;
  dkim_public_key: string;
  registration: Registration | null;
  status: DomainStatus;
  records: StoredDnsRecords;
  has_existing_mx: boolean | null;
  recommended_subdomain: string | null;
  dns_provider_hint: string | null;
  verification_last_checked_at: Date | null;
  verification_attempts: number | null;
  created_at: Date;
  verified_at: Date | null;
};

const columns = `id, workspace_id, domain_name, inbound_subdomain, mail_domain, verification_token, sending_token,
  dkim_selector, dkim_public_key, registration, status, records, has_existing_mx, recommended_subdomain, dns_provider_hint,
  verification_last_checked_at, verification_attempts, created_at, verified_at`;

export const domainById = (reads: Reads, workspaceId: string, id: string) =>
  rowById<DomainRow>(reads, workspaceId, { id, select: columns, from: "domains", where: "deleted_at is null" });

/** Lists domains, newest first. `limit` 0 reads none. */
export const listDomains = (reads: Reads, workspaceId: string, window: Window): Promise<Page<DomainRow>> =>
  readPage<DomainRow>(reads.of(workspaceId), {
    select: columns,
    from: "domains",
    where: ["workspace_id = $1", "deleted_at is null"],
    values: [workspaceId],
    order: newestFirst,
    window,
  });

/** Counts the domains of a workspace, without the sandbox domain. */
export async function countDomains(reads: Reads, workspaceId: string): Promise<number> {
  const { rows } = await reads
    .of(workspaceId)
    .query<{ n: number }>("select count(*)::int as n from domains where workspace_id = $1 and deleted_at is null", [
      workspaceId,
    ]);
  return rows[0]?.n ?? 0;
}
