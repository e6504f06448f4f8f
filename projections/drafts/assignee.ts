import type { Actor, Metadata } from "#streams/event.ts";

/** The member to whom a draft was assigned, when (ISO time), and by whom. */
export type StoredAssignee = { user_id: string; name: string; at: string; by: Pick<Actor, "kind" | "id"> };

export const storedAssignee = (
  assignee: { userId: string; name: string } | null,
  { actor, at }: Metadata,
): StoredAssignee | null =>
  assignee && { user_id: assignee.userId, name: assignee.name, at, by: { kind: actor.kind, id: actor.id } };

/** SQL for the assignee of a row of `drafts`; null once it is decided, or if that member may not decide any more. */
export const assigneeSql = `case when drafts.status = 'pending' and exists (select 1 from members assigned
  where assigned.workspace_id = drafts.workspace_id and assigned.user_id = (drafts.assigned_to->>'user_id')::uuid
    and assigned.role in ('owner', 'admin', 'approver')) then drafts.assigned_to end`;
