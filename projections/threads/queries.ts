import { conditions, page } from "../page.ts";
import type { Reads } from "../reads.ts";

/** The Thread of the contract, without its messages and drafts. */
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

export type ThreadFilter = {
  identity_id?: string;
  status?: string;
  needs_review?: boolean;
  priority?: string;
  q?: string;
  contact?: string;
  /** Both inclusive; `to` of a bare date is that day's last moment (http). */
  from?: Date;
  to?: Date;
  sort?: "last_message_at" | "priority";
  limit: number;
  offset: number;
};

const like = (text: string): string => `%${text.toLowerCase().replace(/[\\%_]/g, "\\$&")}%`;

const orders = {
  last_message_at: "last_message_at desc nulls last, id",
  priority: `array_position(array['urgent','high','normal','low'], priority), last_message_at desc nulls last, id`,
};

/** Survivors only, last message first (interface 4); no thread that a mail of ours opened which never left. */
export function listThreads(reads: Reads, workspaceId: string, filter: ThreadFilter) {
  const { where, values } = conditions(workspaceId, [
    ["identity_id = {n}", filter.identity_id],
    ["status = {n}", filter.status],
    ["needs_review = {n}", filter.needs_review],
    ["priority = {n}", filter.priority],
    [
      `(to_tsvector('simple', subject) @@ websearch_to_tsquery('simple', {n}) or id in (
        select thread_id from messages where workspace_id = $1 and search @@ websearch_to_tsquery('simple', {n})))`,
      filter.q,
    ],
    ["contacts like {n}", filter.contact === undefined ? undefined : like(filter.contact)],
    ["last_message_at >= {n}", filter.from],
    ["last_message_at <= {n}", filter.to],
  ]);
  return page<ThreadRow>(reads.of(workspaceId), {
    select: columns,
    from: "threads",
    where: [...where, "merged_into is null", "shown", "listed"],
    values,
    orderBy: orders[filter.sort ?? "last_message_at"],
    limit: filter.limit,
    offset: filter.offset,
  });
}

/** A thread as itself, merged or not. */
export async function threadById(reads: Reads, workspaceId: string, id: string): Promise<ThreadRow | undefined> {
  const { rows } = await reads
    .of(workspaceId)
    .query<ThreadRow>(`select ${columns} from threads where workspace_id = $1 and id = $2 and shown`, [
      workspaceId,
      id,
    ]);
  return rows[0];
}
