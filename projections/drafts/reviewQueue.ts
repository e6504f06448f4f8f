import type { ListedWarning, WarningKind } from "#streams/draft/warnings.ts";
import type { Reads } from "../reads.ts";
import type { GivenApproval } from "./approvals.ts";
import { assigneeSql, type StoredAssignee } from "./assignee.ts";
import { listedWarningsSql } from "./warnings.ts";

/** A draft that waits for a decision, as shown in a list. */
export type WaitingDraft = {
  id: string;
  version: number;
  thread_id: string;
  identity_id: string;
  identity_name: string;
  identity_address: string;
  thread_subject: string;
  /** Sender of the answered message; without one, the conversation's first participant. */
  customer_name: string | null;
  customer_address: string | null;
  /** First characters of the answered message; null if the draft answers none. */
  first_words: string | null;
  priority: string;
  pending_since: Date;
  /** Time when the secondary channel is asked; null if it was, or never will be. */
  escalates_at: Date | null;
  approvals_given: GivenApproval[];
  approvals_required_now: number;
  /** True if the requests to its approvers expired without a decision. */
  is_expired: boolean;
  /** The member who takes care of it; null if nobody does. */
  assignee: StoredAssignee | null;
  /** Its warnings, in no order. */
  warnings: ListedWarning[];
  /** Place in the queue, from 0, and the drafts next to it. */
  rank: number;
  previous_id: string | null;
  next_id: string | null;
};

/**
 * Limits the queue to drafts of one identity, of conversations with one priority, that wait since a time or longer, that have a warning, or
 * that have none of some warnings.
 */
export type QueueFilter = {
  identityId?: string | undefined;
  priority?: string | undefined;
  waitingSince?: Date | undefined;
  /** User id of the member to whom they are assigned; null: drafts of nobody. */
  assigneeId?: string | null | undefined;
  warning?: ListedWarning | undefined;
  without?: readonly WarningKind[] | undefined;
};

/**
 * Selects at most `limit` drafts after the first `offset`. If `draftId` is in the queue but not among these drafts, selects the page of
 * the queue that contains it.
 */
export type QueueWindow = { limit: number; offset?: number; draftId?: string | undefined };

/** `from`: number of drafts before the first of `data`. `total`: drafts in the whole queue, under this filter. */
export type ReviewQueue = { data: WaitingDraft[]; total: number; from: number };

/** SQL for when the secondary channel is asked (processes/escalateUnanswered.ts); null if it was, or never will be. */
const escalatesAt = `case when i.secondary_approval_channel is not null and i.approvals_required = 1 and not drafts.escalated
  then drafts.pending_since + make_interval(mins => i.escalation_delay_minutes) end`;

/** SQL condition: the draft waits for an approver, not for changes by the agent, or the agent has not made them in time. */
const isForApprovers = `coalesce(drafts.changes_requested->>'state' <> 'open', true)`;

const firstCharacters = 160;

/** SQL for the first characters of a message, without quotations if there is other text. */
const firstWords = `coalesce(nullif(btrim(left(m.extracted_text, ${firstCharacters})), ''), left(m.body_text, ${firstCharacters}))`;

/**
 * Returns the drafts of a workspace that wait for a decision, the most urgent first: by the conversation's priority, then by when the
 * secondary channel will be asked, then by waiting time. Only ids are sorted; only the rows shown are read in full.
 */
export async function reviewQueue(
  reads: Reads,
  workspaceId: string,
  {
    identityId,
    priority,
    waitingSince,
    assigneeId,
    warning,
    without,
    limit,
    offset = 0,
    draftId,
  }: QueueFilter & QueueWindow,
): Promise<ReviewQueue> {
  const { rows } = await reads.of(workspaceId).query<WaitingDraft & { total: number }>(
    `with waiting as materialized (
       select drafts.id, t.urgency, ${escalatesAt} as escalates_at, drafts.pending_since
       from drafts join threads t on t.id = drafts.thread_id join identities i on i.id = drafts.identity_id
       where drafts.workspace_id = $1 and drafts.status = 'pending' and ${isForApprovers} and ($2::uuid is null or drafts.identity_id = $2)
         and ($3::text is null or t.priority = $3) and ($4::timestamptz is null or drafts.pending_since <= $4)
         and ($8::text is null or $8 = any(${listedWarningsSql})) and ($9::text[] is null or not $9 && ${listedWarningsSql})
         and ($10::text is null or coalesce((${assigneeSql})->>'user_id', '') = $10)
     ), placed as materialized (
       select id, escalates_at, (row_number() over queue)::int - 1 as rank, lag(id) over queue as previous_id,
         lead(id) over queue as next_id
       from waiting window queue as (order by urgency desc, escalates_at nulls last, pending_since, id)
     ), start as (
       select coalesce((select case when rank >= $6::int and rank < $6::int + $5::int then $6::int else rank / $5::int * $5::int end
         from placed where id = $7::uuid), $6::int) as rank
     )
     select drafts.id, drafts.version, drafts.thread_id, drafts.identity_id, drafts.approvals_given, drafts.pending_since,
       ${assigneeSql} as assignee,
       ${listedWarningsSql} as warnings, drafts.notification_state = 'expired' as is_expired,
       i.display_name as identity_name, i.email_address as identity_address, i.approvals_required as approvals_required_now,
       t.subject as thread_subject, t.priority, s.escalates_at, s.rank, s.previous_id, s.next_id,
       m.from_name as customer_name, coalesce(m.from_email, t.participants->>0) as customer_address, ${firstWords} as first_words,
       (select count(*)::int from placed) as total
     from start join placed s on s.rank >= start.rank and s.rank < start.rank + $5::int
     join drafts on drafts.id = s.id join threads t on t.id = drafts.thread_id join identities i on i.id = drafts.identity_id
     left join messages m on m.id = drafts.based_on_message_id
     order by s.rank`,
    [
      ...[workspaceId, identityId ?? null, priority ?? null, waitingSince ?? null, limit, offset, draftId ?? null],
      ...[warning ?? null, without ?? null, assigneeId === undefined ? null : (assigneeId ?? "")],
    ],
  );
  return { data: rows.map(({ total: _, ...row }) => row), total: rows[0]?.total ?? 0, from: rows[0]?.rank ?? offset };
}

/** Returns the identities with waiting drafts, with their number, by name. */
export async function waitingByIdentity(
  reads: Reads,
  workspaceId: string,
): Promise<{ id: string; name: string; address: string; count: number }[]> {
  const { rows } = await reads.of(workspaceId).query<{ id: string; name: string; address: string; count: number }>(
    `select i.id, i.display_name as name, i.email_address as address, c.count
     from (select identity_id, count(*)::int as count from drafts
       where workspace_id = $1 and status = 'pending' and ${isForApprovers} group by identity_id) c
     join identities i on i.id = c.identity_id order by i.display_name, i.id`,
    [workspaceId],
  );
  return rows;
}

/**
 * Drafts that wait for a decision. `isNew`: number of those whose version began to wait in the window, and that no other member takes care
 * of. `handedOver`: number of those that another member assigned to this one in the window. `first`: one of them.
 */
export type WaitingNews = { total: number; isNew: number; handedOver: number; first: string | null };

/** Counts the drafts that wait, and those that are news for a member in the window: at `from` or later and before `to` (ISO times). */
export async function waitingNews(
  reads: Reads,
  workspaceId: string,
  { userId, from, to }: { userId: string; from: string; to: string },
): Promise<WaitingNews> {
  const { rows } = await reads
    .of(workspaceId)
    .query<{ total: number; fresh: string[] | null; handed: string[] | null }>(
      `select count(*)::int as total,
       array_agg(id::text order by version_pending_since, id) filter (where version_pending_since >= $2
         and version_pending_since < $3 and coalesce(assignee->>'user_id', $4) = $4) as fresh,
       array_agg(id::text order by id) filter (where assignee->>'user_id' = $4 and assignee->'by'->>'id' <> $4
         and (assignee->>'at')::timestamptz >= $2 and (assignee->>'at')::timestamptz < $3) as handed
     from (select id, version_pending_since, ${assigneeSql} as assignee from drafts
       where workspace_id = $1 and status = 'pending' and ${isForApprovers}) waiting`,
      [workspaceId, from, to, userId],
    );
  const { total = 0, fresh, handed } = rows[0] ?? {};
  const first = handed?.[0] ?? fresh?.[0] ?? null;
  return { total, isNew: fresh?.length ?? 0, handedOver: handed?.length ?? 0, first };
}
