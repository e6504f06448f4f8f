import type { HtmlRemoved } from "#streams/draft/content.ts";
import type { ApprovalChannel } from "#streams/identity/events.ts";
import { activeRowOfAssistant } from "../activeRows.ts";
import { conditions, newestFirst, readPage, type Window } from "../page.ts";
import type { Reads } from "../reads.ts";
import { rowById } from "../rowById.ts";

/** Identity as in the API, its channels still sealed: http masks them. */
export type IdentityRow = {
  id: string;
  workspace_id: string;
  domain_id: string;
  assistant_id: string | null;
  local_part: string;
  email_address: string;
  display_name: string;
  reply_to_email: string | null;
  signature_text: string | null;
  signature_html: string | null;
  html_removed: HtmlRemoved[];
  thread_history_depth: number;
  status: "active" | "disabled";
  approval_channel: ApprovalChannel | null;
  secondary_approval_channel: ApprovalChannel | null;
  escalation_delay_minutes: number | null;
  can_send_cold: boolean;
  auto_approve_replies: boolean;
  require_human_approval: boolean;
  send_on_channel_approval: boolean;
  aliases: string[];
  covered_recipients: string[];
  confirm_code: boolean;
  edit_by_channel: boolean;
  approvals_required: number;
  created_at: Date;
  updated_at: Date;
};

const columns = `id, workspace_id, domain_id, assistant_id, local_part, email_address, display_name, reply_to_email,
  signature_text, signature_html, html_removed, thread_history_depth, status, approval_channel, secondary_approval_channel,
  escalation_delay_minutes, can_send_cold, auto_approve_replies, require_human_approval, send_on_channel_approval,
  aliases, covered_recipients, confirm_code, edit_by_channel, approvals_required, created_at, updated_at`;

/** Returns those of these addresses (in lower case) that an identity of the workspace has. */
export async function addressesOfWorkspace(
  reads: Reads,
  workspaceId: string,
  addresses: readonly string[],
): Promise<string[]> {
  const { rows } = await reads.of(workspaceId).query<{ email_address: string }>(
    `select email_address from identities
     where workspace_id = $1 and deleted_at is null and email_address = any($2::text[])`,
    [workspaceId, addresses],
  );
  return rows.map((row) => row.email_address);
}

export const identityById = (reads: Reads, workspaceId: string, id: string) =>
  rowById<IdentityRow>(reads, workspaceId, { id, select: columns, from: "identities", where: "deleted_at is null" });

export type IdentityFilter = Window & { domain_id?: string; status?: string };

export function listIdentities(reads: Reads, workspaceId: string, filter: IdentityFilter) {
  const { where, values } = conditions(workspaceId, [
    ["domain_id = {n}", filter.domain_id],
    ["status = {n}", filter.status],
  ]);
  return readPage<IdentityRow>(reads.of(workspaceId), {
    select: columns,
    from: "identities",
    where: [...where, "deleted_at is null"],
    values,
    order: newestFirst,
    window: filter,
  });
}

/** Returns the ids of a workspace's identities, oldest first. */
export async function activeIdentities(reads: Reads, workspaceId: string): Promise<{ id: string }[]> {
  const { rows } = await reads
    .of(workspaceId)
    .query<{ id: string }>(
      "select id from identities where workspace_id = $1 and deleted_at is null order by created_at, id",
      [workspaceId],
    );
  return rows;
}

/** True if any live identity of the workspace requires human approval. */
export async function anyIdentityRequiresHuman(reads: Reads, workspaceId: string): Promise<boolean> {
  const { rows } = await reads.of(workspaceId).query<{ any: boolean }>(
    `select exists (
         select from identities where workspace_id = $1 and deleted_at is null and require_human_approval
       ) as any`,
    [workspaceId],
  );
  return rows[0]?.any ?? false;
}

/** Returns a live identity with this assistant, if any. */
export const identityOfAssistant = (
  reads: Reads,
  workspaceId: string,
  assistantId: string,
): Promise<string | undefined> => activeRowOfAssistant(reads, workspaceId, { table: "identities", assistantId });

/** Returns the live identity with one of these addresses, in any workspace: for inbound mail. Addresses are stored in lower case. */
export async function identityByAddress(
  reads: Reads,
  addresses: readonly string[],
): Promise<{ id: string; workspace_id: string; email_address: string }[]> {
  const { rows } = await reads.ofNone.query<{ id: string; workspace_id: string; email_address: string }>(
    "select id, workspace_id, email_address from work.identities_by_address($1)",
    [addresses],
  );
  return rows;
}

export async function countIdentities(reads: Reads, workspaceId: string): Promise<number> {
  const { rows } = await reads
    .of(workspaceId)
    .query<{ count: number }>(
      "select count(*)::int as count from identities where workspace_id = $1 and deleted_at is null",
      [workspaceId],
    );
  return rows[0]?.count ?? 0;
}

/** Name in an identity's mail; a deleted one's too. */
export type IdentityName = {
  id: string;
  display_name: string;
  email_address: string;
  status: "active" | "disabled" | "deleted";
};

export async function identityNames(
  reads: Reads,
  workspaceId: string,
  ids: readonly string[],
): Promise<IdentityName[]> {
  const { rows } = await reads.of(workspaceId).query<IdentityName>(
    `select id, display_name, email_address, case when deleted_at is null then status else 'deleted' end as status
     from identities where workspace_id = $1 and id = any($2::uuid[])`,
    [workspaceId, ids],
  );
  return rows;
}
