import type { DraftContent } from "#streams/draft/content.ts";
import { readPage, type Window } from "../page.ts";
import type { Reads } from "../reads.ts";
import { rowById } from "../rowById.ts";
import { type ReadDraft, readColumns } from "./readDraft.ts";

export {
  type AnsweredMeanwhile,
  answeredElsewhereBy,
  answersElsewhere,
  answersMeanwhile,
  otherPendingDrafts,
} from "./answers.ts";
export type { GivenApproval } from "./approvals.ts";
export { type DraftFilter, listDrafts } from "./draftList.ts";
export { subjectsSentTo } from "./people.ts";
export type { ReadDraft } from "./readDraft.ts";
export {
  type QueueFilter,
  type ReviewQueue,
  reviewQueue,
  type WaitingDraft,
  type WaitingNews,
  waitingByIdentity,
  waitingNews,
} from "./reviewQueue.ts";
export { applyToDraft, type DraftRow } from "./row.ts";

export const draftById = (reads: Reads, workspaceId: string, id: string) =>
  rowById<ReadDraft>(reads, workspaceId, { id, select: readColumns, from: "drafts" });

export const draftIdById = (reads: Reads, workspaceId: string, id: string) =>
  rowById<{ id: string }>(reads, workspaceId, { id, select: "id", from: "drafts" });

/** Returns all drafts of a thread, newest first. */
export async function draftsOfThread(reads: Reads, workspaceId: string, threadId: string): Promise<ReadDraft[]> {
  const { rows } = await reads
    .of(workspaceId)
    .query<ReadDraft>(
      `select ${readColumns} from drafts where workspace_id = $1 and thread_id = $2 order by created_at desc, id desc`,
      [workspaceId, threadId],
    );
  return rows;
}

/** Returns the ids of the drafts of a thread that were submitted by a time. */
export async function draftIdsOfThread(
  reads: Reads,
  workspaceId: string,
  { threadId, by }: { threadId: string; by: Date },
): Promise<string[]> {
  const { rows } = await reads
    .of(workspaceId)
    .query<{ id: string }>("select id from drafts where workspace_id = $1 and thread_id = $2 and created_at <= $3", [
      workspaceId,
      threadId,
      by,
    ]);
  return rows.map(({ id }) => id);
}

/** Returns drafts that wait for a decision, of these threads or of this identity; the newest, at most `limit`. */
export async function pendingDraftsOf(
  reads: Reads,
  workspaceId: string,
  { threadIds, identityId, limit }: { threadIds: readonly string[]; identityId: string | null; limit: number },
): Promise<string[]> {
  const { rows } = await reads.of(workspaceId).query<{ id: string }>(
    `select id from drafts
     where workspace_id = $1 and status = 'pending' and (thread_id = any($2::uuid[]) or identity_id = $3)
     order by created_at desc, id desc limit $4`,
    [workspaceId, threadIds, identityId, limit],
  );
  return rows.map(({ id }) => id);
}

export type GivenReason = { reason: string; count: number };

/** Returns the reasons of the newest 200 rejections of a workspace or an identity: the most used first, then the newest; at most 8. */
export async function rejectionReasons(
  reads: Reads,
  workspaceId: string,
  identityId: string | null,
): Promise<GivenReason[]> {
  const { rows } = await reads.of(workspaceId).query<GivenReason>(
    `select reason, count(*)::int as count from (
       select reason, created_at from drafts
       where workspace_id = $1 and status = 'rejected' and ($2::uuid is null or identity_id = $2)
       order by created_at desc, id limit 200
     ) newest where reason is not null and btrim(reason) <> ''
     group by reason order by count(*) desc, max(created_at) desc, reason limit 8`,
    [workspaceId, identityId],
  );
  return rows;
}

/** Returns the ids of an identity's drafts in one of these states. */
export async function draftIdsOfIdentity(
  reads: Reads,
  workspaceId: string,
  { identityId, statuses }: { identityId: string; statuses: readonly string[] },
): Promise<string[]> {
  const { rows } = await reads
    .of(workspaceId)
    .query<{ id: string }>(
      "select id from drafts where workspace_id = $1 and identity_id = $2 and status = any($3) order by created_at, id",
      [workspaceId, identityId, statuses],
    );
  return rows.map((row) => row.id);
}

export type VersionRow = {
  id: string;
  draft_id: string;
  version: number;
  content: DraftContent | null;
  content_blob: string | null;
  content_sha256: string;
  text_derived: boolean;
  rationale: string | null;
  edited_by: { kind: string; id: string; name: string | null };
  changed_fields: string[];
  created_at: Date;
};

/** Lists the versions that edits replaced, oldest first. */
export const listVersions = (reads: Reads, workspaceId: string, { draftId, ...window }: Window & { draftId: string }) =>
  readPage<VersionRow>(reads.of(workspaceId), {
    select:
      "id, draft_id, version, content, content_blob, content_sha256, text_derived, rationale, edited_by, changed_fields, created_at",
    from: "draft_versions",
    where: ["workspace_id = $1", "draft_id = $2"],
    values: [workspaceId, draftId],
    order: { columns: ["version"], direction: "asc" },
    window,
  });

export type TokenRow = { token_sha256: string; draft_id: string; workspace_id: string };

/** Returns the hashes that belong to an approval token, each with the draft that the token decides about, in any workspace. */
export async function draftsOfTokens(reads: Reads, sha256s: readonly string[]): Promise<TokenRow[]> {
  const { rows } = await reads.ofNone.query<TokenRow>(
    `select asked.sha256 as token_sha256, d.draft_id, d.workspace_id
     from unnest($1::text[]) as asked (sha256), work.draft_of_token(asked.sha256) as d`,
    [sha256s],
  );
  return rows;
}

/** Returns the draft a token decides about, in any workspace: the token is the authorisation. */
export async function draftOfToken(
  reads: Reads,
  tokenSha256: string,
): Promise<{ draft_id: string; workspace_id: string } | undefined> {
  const { rows } = await reads.ofNone.query<{ draft_id: string; workspace_id: string }>(
    "select draft_id, workspace_id from work.draft_of_token($1)",
    [tokenSha256],
  );
  return rows[0];
}

/** Counts an identity's drafts that are not yet decided or sent. */
export async function openDraftsOfIdentity(reads: Reads, workspaceId: string, identityId: string): Promise<number> {
  const { rows } = await reads.of(workspaceId).query<{ count: number }>(
    `select coalesce(sum(count), 0)::int as count from draft_counts
     where workspace_id = $1 and identity_id = $2 and status in ('pending', 'approved')`,
    [workspaceId, identityId],
  );
  return rows[0]?.count ?? 0;
}

/** Counts other open requests at a mailbox (in lower case), up to `most`. */
export async function openRequests(
  reads: Reads,
  workspaceId: string,
  { address, besides, most }: { address: string; besides: string; most: number },
): Promise<number> {
  const { rows } = await reads.of(workspaceId).query<{ count: number }>(
    `select count(*)::int as count from (
       select 1 from approval_requests
       where workspace_id = $1 and address = $2 and open and draft_id <> $3 limit $4
     ) counted`,
    [workspaceId, address, besides, most],
  );
  return rows[0]?.count ?? 0;
}

export type WaitingRequest = {
  draft_id: string;
  notification_id: string;
  slot: "primary" | "secondary";
  version: number;
  tries: number;
  since: Date;
};

/** Returns the requests that wait for one mail to a mailbox (in lower case), the oldest first, starting after `after`. */
export async function waitingRequests(
  reads: Reads,
  workspaceId: string,
  { address, after, most }: { address: string; after: WaitingRequest | undefined; most: number },
): Promise<WaitingRequest[]> {
  const { rows } = await reads.of(workspaceId).query<WaitingRequest>(
    `select draft_id, notification_id, slot, version, tries, since from approval_requests
     where workspace_id = $1 and address = $2 and open and bundled and state = 'waiting'
       and ($4::timestamptz is null or (since, draft_id) > ($4, $5::uuid))
     order by since, draft_id limit $3`,
    [workspaceId, address, most, after?.since ?? null, after?.draft_id ?? null],
  );
  return rows;
}

export type OnList = {
  id: string;
  status: string;
  /** Time since which its newest version has waited for a decision; null if it has not. */
  since: Date | null;
};

/** Returns the drafts of a list, by the SHA-256 of its token: those that wait for a decision first, then the oldest. */
export async function draftsOfList(reads: Reads, workspaceId: string, listSha256: string): Promise<OnList[]> {
  const { rows } = await reads.of(workspaceId).query<OnList>(
    `select draft.id, draft.status, draft.version_pending_since as since
     from approval_lists list join drafts draft on draft.id = list.draft_id
     where list.workspace_id = $1 and list.list_sha256 = $2
     order by draft.status = 'pending' desc, draft.id`,
    [workspaceId, listSha256],
  );
  return rows;
}

/** Returns the entries of the list whose token's SHA-256 begins with these 30 digits. */
export async function draftsOfListAttempt(
  reads: Reads,
  workspaceId: string,
  digits: string,
): Promise<{ draft_id: string; list_sha256: string }[]> {
  const { rows } = await reads.of(workspaceId).query<{ draft_id: string; list_sha256: string }>(
    `select draft_id, list_sha256 from approval_lists
     where workspace_id = $1 and list_sha256 >= $2 and list_sha256 < $3 and left(list_sha256, 30) = $2
     order by draft_id`,
    [workspaceId, digits, `${digits}g`],
  );
  return rows;
}

/** Maximum number of expired drafts that are returned by id. */
const firstExpired = 3;

/**
 * Counts the drafts that wait for a decision although the requests to their approvers expired at `from` or later and before `to` (ISO 8601),
 * besides `told`. `first`: the ids of the first of them.
 */
export async function expiredDrafts(
  reads: Reads,
  workspaceId: string,
  { from, to, told }: { from: string; to: string; told?: string },
): Promise<{ total: number; first: string[] }> {
  const { rows } = await reads.of(workspaceId).query<{ total: number; first: string[] }>(
    `select count(*)::int as total, coalesce((array_agg(id::text order by notification_at, id))[1:${firstExpired}], '{}') as first
     from drafts
     where workspace_id = $1 and status = 'pending' and notification_state = 'expired'
       and notification_at >= $2 and notification_at < $3 and ($4::uuid is null or id <> $4)`,
    [workspaceId, from, to, told ?? null],
  );
  return rows[0] ?? { total: 0, first: [] };
}
