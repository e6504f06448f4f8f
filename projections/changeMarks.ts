import type { Reads } from "./reads.ts";

/** Parts of a workspace that may change, as its pages name them. */
export type Topic = "drafts" | "threads" | "domains" | "workspace";

/** A text per topic that differs after every change. It reveals no content. */
export type ChangeMarks = Readonly<Record<Topic, string>>;

/** Reads the present marks of a workspace. */
export async function changeMarks(reads: Reads, workspaceId: string): Promise<ChangeMarks> {
  const { rows } = await reads.of(workspaceId).query<ChangeMarks>(
    `select ${draftsMark} as drafts,
       concat(${draftsMark}, ' ', ${feedMark}) as threads,
       ${domainsMark} as domains,
       coalesce((select updated_at::text from workspaces where id = $1), '') as workspace`,
    [workspaceId],
  );
  const [{ drafts, threads, domains, workspace } = nothing] = rows;
  return { drafts, threads, domains, workspace };
}

const nothing: ChangeMarks = { drafts: "", threads: "", domains: "", workspace: "" };

// The column is qualified: the result column of that name is a text, by which 99 would sort after 100.
const draftsMark = `coalesce((select changed_position::text from drafts where workspace_id = $1
  order by drafts.changed_position desc limit 1), '')`;

const feedMark = `(select position from feed_events where workspace_id = $1 order by position desc, part desc limit 1)`;

/** Hashes all domains: a workspace has few, and each check of their records changes a row. */
const domainsMark = `coalesce((select md5(string_agg(
    concat(id, status, verification_last_checked_at, records::text), ' ' order by id))
  from domains where workspace_id = $1 and deleted_at is null), '')`;
