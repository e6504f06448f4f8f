import { conditions, newestFirst, readPage, type Window } from "../page.ts";
import type { Reads } from "../reads.ts";
import { rowById } from "../rowById.ts";

/** Assistant as in the API. */
export type AssistantRow = {
  id: string;
  workspace_id: string;
  name: string;
  description: string | null;
  status: "active" | "disabled";
  created_at: Date;
  updated_at: Date;
};

const columns = "id, workspace_id, name, description, status, created_at, updated_at";

export const assistantById = (reads: Reads, workspaceId: string, id: string) =>
  rowById<AssistantRow>(reads, workspaceId, { id, select: columns, from: "assistants", where: "deleted_at is null" });

export type AssistantFilter = Window & { status?: string };

/** Lists assistants, newest first. */
export function listAssistants(reads: Reads, workspaceId: string, filter: AssistantFilter) {
  const { where, values } = conditions(workspaceId, [["status = {n}", filter.status]]);
  return readPage<AssistantRow>(reads.of(workspaceId), {
    select: columns,
    from: "assistants",
    where: [...where, "deleted_at is null"],
    values,
    order: newestFirst,
    window: filter,
  });
}
