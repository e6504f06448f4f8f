import type { Reads } from "./reads.ts";

/** What of a workspace may have changed, by what its pages call it. */
export type Topic = "drafts" | "threads" | "domains" | "workspace";

/** By topic: a text that is another one whenever something changed. It says nothing of what is in it. */
export type ChangeMarks = Readonly<Record<Topic, string>>;

/** How far everything has got in a workspace. */
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

// The column is named in full: as a text, which it is in the answer, 99 would come after 100.
const draftsMark = `coalesce((select changed_position::text from drafts where workspace_id = $1
  order by drafts.changed_position desc limit 1), '')`;

const feedMark = `(select position from feed_events where workspace_id = $1 order by position desc, part desc limit 1)`;

/** A workspace has few, and each check of its records is kept. */
const domainsMark = `coalesce((select md5(string_agg(
    concat(id, status, verification_last_checked_at, records::text), ' ' order by id))
  from domains where workspace_id = $1 and deleted_at is null), '')`;
