import type { Reads } from "../reads.ts";
import type { GivenApproval } from "./approvals.ts";

/** A draft that waits for a decision, as shown in a list. */
export type WaitingDraft = {
  id: string;
  version: number;
  thread_id: string;
  identity_id: string;
  identity_name: string;
  identity_address: string;
  thread_subject: string;
  priority: string;
  pending_since: Date;
  /** Time when the secondary channel is asked; null if it was, or never will be. */
  escalates_at: Date | null;
  approvals_given: GivenApproval[];
  approvals_required_now: number;
};

/** SQL for when the secondary channel is asked (processes/escalateUnanswered.ts); null if it was, or never will be. */
const escalatesAt = `case when i.secondary_approval_channel is not null and i.approvals_required = 1 and not d.escalated
  then d.pending_since + make_interval(mins => i.escalation_delay_minutes) end`;

/**
 * Returns the drafts of a workspace that wait for a decision, the most urgent first: by the conversation's priority, then by when the
 * secondary channel will be asked, then by waiting time. At most `limit`, and the number of all. Only ids are sorted; only the rows shown
 * are read in full.
 */
export async function reviewQueue(
  reads: Reads,
  workspaceId: string,
  { identityId, limit, offset = 0 }: { identityId?: string | undefined; limit: number; offset?: number },
): Promise<{ data: WaitingDraft[]; total: number }> {
  const { rows } = await reads.of(workspaceId).query<WaitingDraft & { total: number }>(
    `with waiting as materialized (
       select d.id, t.urgency, ${escalatesAt} as escalates_at, d.pending_since
       from drafts d join threads t on t.id = d.thread_id join identities i on i.id = d.identity_id
       where d.workspace_id = $1 and d.status = 'pending' and ($2::uuid is null or d.identity_id = $2)
     ), shown as (
       select * from waiting order by urgency desc, escalates_at nulls last, pending_since, id limit $3 offset $4
     )
     select d.id, d.version, d.thread_id, d.identity_id, d.approvals_given, d.pending_since,
       i.display_name as identity_name, i.email_address as identity_address, i.approvals_required as approvals_required_now,
       t.subject as thread_subject, t.priority, s.escalates_at, (select count(*)::int from waiting) as total
     from shown s join drafts d on d.id = s.id join threads t on t.id = d.thread_id join identities i on i.id = d.identity_id
     order by t.urgency desc, s.escalates_at nulls last, d.pending_since, d.id`,
    [workspaceId, identityId ?? null, limit, offset],
  );
  return { data: rows.map(({ total: _, ...row }) => row), total: rows[0]?.total ?? 0 };
}

/** Returns the identities with waiting drafts, with their number, by name. */
export async function waitingByIdentity(
  reads: Reads,
  workspaceId: string,
): Promise<{ id: string; name: string; address: string; count: number }[]> {
  const { rows } = await reads.of(workspaceId).query<{ id: string; name: string; address: string; count: number }>(
    `select i.id, i.display_name as name, i.email_address as address, c.count
     from draft_counts c join identities i on i.id = c.identity_id
     where c.workspace_id = $1 and c.status = 'pending' and c.count > 0 order by i.display_name, i.id`,
    [workspaceId],
  );
  return rows;
}
