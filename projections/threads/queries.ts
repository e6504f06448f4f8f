import { conditions, type Order, type Page, readPage, type Window } from "../page.ts";
import type { Reads } from "../reads.ts";
import { rowById } from "../rowById.ts";
import { countThreadsOf } from "./dayCounts.ts";
import { type SearchLimits, searchThreads } from "./searchThreads.ts";

/** Thread as in the API, without its messages and drafts. */
export type ThreadRow = {
  id: string;
  workspace_id: string;
  identity_id: string;
  primary_contact_id: string | null;
  subject: string;
  status: string;
  priority: string;
  needs_review: boolean;
  last_message_at: Date | null;
  message_count: number;
  participants: string[];
  merged_into: string | null;
  created_at: Date;
  updated_at: Date;
};

const columns = `id, workspace_id, identity_id, primary_contact_id, subject, status, priority, needs_review,
  last_message_at, message_count, participants, merged_into, created_at, updated_at`;

export type ThreadFilter = Window & {
  identity_id?: string;
  status?: string;
  needs_review?: boolean;
  priority?: string;
  q?: string;
  contact?: string;
  /** Start of the period; `from` and `to` are both included. For a bare date, HTTP sets `to` to the end of that day. */
  from?: Date;
  to?: Date;
  sort?: "last_message_at" | "priority";
  /** For `q` and `contact`; a proof of small size has others than the usual ones. */
  searchLimits?: SearchLimits;
};

const orders: Record<NonNullable<ThreadFilter["sort"]>, Order> = {
  last_message_at: { columns: ["sorted_at", "id"], direction: "desc" },
  priority: { columns: ["urgency", "sorted_at", "id"], direction: "desc" },
};

/** Lists surviving threads, last message first; without threads opened by a mail of ours that was never sent. */
export async function listThreads(reads: Reads, workspaceId: string, filter: ThreadFilter): Promise<Page<ThreadRow>> {
  const { q, contact, from, to } = filter;
  const filters = [
    ["identity_id = {n}", filter.identity_id],
    ["status = {n}", filter.status],
    // A separate condition, so that the planner uses the index of threads that need review.
    [filter.needs_review ? "needs_review and {n}" : "needs_review = {n}", filter.needs_review],
    ["urgency = array_position(array['low', 'normal', 'high', 'urgent'], {n})", filter.priority],
    ["sorted_at >= {n}", from],
    ["sorted_at <= {n} and last_message_at is not null", to],
    ["in_lists and {n}", true],
  ] as const;
  // Within one priority, both orders are the same; the shorter one leads straight to a cursor.
  const order = orders[filter.priority === undefined && filter.sort ? filter.sort : "last_message_at"];
  const list = { select: columns, order, window: filter };
  if (q !== undefined || contact !== undefined) {
    const search = { ...list, filters, texts: { q, contact }, limits: filter.searchLimits };
    return searchThreads<ThreadRow>(reads, workspaceId, search);
  }
  const counted = conditions(workspaceId, [
    ["identity_id = {n}", filter.identity_id],
    ["status = {n}", filter.status],
    ["needs_review = {n}", filter.needs_review],
    ["priority = {n}", filter.priority],
  ]);
  const plain = { ...list, from: "threads", ...conditions(workspaceId, filters) };
  if (from === undefined && to === undefined)
    return readPage<ThreadRow>(reads.of(workspaceId), { ...plain, counts: { table: "thread_counts", ...counted } });
  return reads.snapshot(workspaceId, async (snapshot) => {
    const sql = snapshot.of(workspaceId);
    return readPage<ThreadRow>(sql, { ...plain, total: await countThreadsOf(sql, counted, filter) });
  });
}

/** Returns a thread, merged or not. */
export const threadById = (reads: Reads, workspaceId: string, id: string) =>
  rowById<ThreadRow>(reads, workspaceId, { id, select: columns, from: "threads", where: "shown" });

/** Returns the id of a thread and those of the threads that were merged into it. */
export async function joinedThreads(reads: Reads, workspaceId: string, id: string): Promise<string[]> {
  const { rows } = await reads
    .of(workspaceId)
    .query<{ id: string }>("select id from threads where workspace_id = $1 and (id = $2 or merged_into = $2)", [
      workspaceId,
      id,
    ]);
  return rows.map((row) => row.id);
}

/**
 * Returns the threads before and after one thread in the list of all threads, ordered by newest message first; null at the ends of the
 * list.
 */
export async function neighbouringThreads(
  reads: Reads,
  workspaceId: string,
  id: string,
): Promise<{ newer: string | null; older: string | null }> {
  const here = "((select sorted_at from here), (select id from here))";
  const { rows } = await reads.of(workspaceId).query<{ newer: string | null; older: string | null }>(
    `with here as materialized (select sorted_at, id from threads where workspace_id = $1 and id = $2)
     select (select id from threads where workspace_id = $1 and in_lists and (sorted_at, id) > ${here}
             order by sorted_at, id limit 1) as newer,
       (select id from threads where workspace_id = $1 and in_lists and (sorted_at, id) < ${here}
        order by sorted_at desc, id desc limit 1) as older`,
    [workspaceId, id],
  );
  return rows[0] ?? { newer: null, older: null };
}
