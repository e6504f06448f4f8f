import type { ListedWarning } from "#streams/draft/warnings.ts";
import { conditions, newestFirst, readPage, readPageByIds, type Window } from "../page.ts";
import type { Reads } from "../reads.ts";
import { matchingWordsSql } from "../search/queries.ts";
import { personCondition } from "./people.ts";
import { type ReadDraft, readColumns } from "./readDraft.ts";
import { warningCondition } from "./warnings.ts";

export type DraftFilter = Window & {
  thread_id?: string;
  identity_id?: string;
  status?: string;
  warning_kind?: ListedWarning;
  /** Words of the thread's messages. */
  q?: string;
  /** A recipient, somebody who decided, or who wrote on the thread. */
  person?: string;
  /** Start of the period of the submission; `from` and `to` are both included. */
  from?: Date;
  to?: Date;
};

/** Lists drafts, newest first. */
export function listDrafts(reads: Reads, workspaceId: string, filter: DraftFilter) {
  const { thread_id, identity_id, status, warning_kind, q, person, from, to } = filter;
  const counted = [
    ["identity_id = {n}", identity_id],
    ["status = {n}", status],
  ] as const;
  const uncounted = [
    ["thread_id = {n}", thread_id],
    ...(warning_kind === undefined ? [] : ([[warningCondition(warning_kind), warning_kind]] as const)),
    ...(q === undefined ? [] : matchingWordsSql("thread_id", q)),
    ...(person === undefined ? [] : [personCondition(person)]),
    ["created_at >= {n}", from],
    ["created_at <= {n}", to],
  ] as const;
  const list = {
    select: readColumns,
    from: "drafts",
    ...conditions(workspaceId, [...counted, ...uncounted]),
    order: newestFirst,
    window: filter,
  };
  const sql = reads.of(workspaceId);
  if (q !== undefined || person !== undefined) return readPageByIds<ReadDraft>(sql, list);
  // The drafts of a filter without stored counts are counted directly.
  const isCounted = uncounted.every(([, value]) => value === undefined);
  const counts = { table: "draft_counts", ...conditions(workspaceId, counted) };
  return readPage<ReadDraft>(sql, { ...list, ...(isCounted && { counts }) });
}
