import type { Actor } from "#streams/event.ts";
import type { Role } from "#streams/member/roles.ts";
import { type Order, readPage, type Window } from "../page.ts";
import type { Reads } from "../reads.ts";
import { rowById } from "../rowById.ts";

export type MemberRow = {
  id: string;
  user_id: string | null;
  email: string;
  name: string | null;
  role: Role;
  status: "invited" | "active";
  invited_by: Pick<Actor, "kind" | "id" | "name"> | null;
  created_at: Date;
  expires_at: Date | null;
};

/** A workspace that a person is a member of, and their role in it. */
export type WorkspaceOfUser = { id: string; name: string; role: Role; member_id: string };

const listed = "id, user_id, email, name, role, status, invited_by, created_at, expires_at";
const oldestFirst: Order = { columns: ["created_at", "id"], direction: "asc" };

export const memberRow = (reads: Reads, workspaceId: string, id: string) =>
  rowById<MemberRow>(reads, workspaceId, { id, select: listed, from: "members" });

/** Lists members and invitations, the oldest first. */
export const listMembers = (reads: Reads, workspaceId: string, window: Window) =>
  readPage<MemberRow>(reads.of(workspaceId), {
    select: listed,
    from: "members",
    where: ["workspace_id = $1"],
    values: [workspaceId],
    order: oldestFirst,
    window,
  });

/** Returns the members who may decide about drafts, by name. A member without a name is shown by address. */
export async function decidingMembers(reads: Reads, workspaceId: string): Promise<{ user_id: string; name: string }[]> {
  const { rows } = await reads.of(workspaceId).query<{ user_id: string; name: string }>(
    `select user_id, coalesce(name, email) as name from members
     where workspace_id = $1 and status = 'active' and role in ('owner', 'admin', 'approver') order by 2, 1`,
    [workspaceId],
  );
  return rows;
}

/** Returns all workspaces of which this user is an active member, by name: the choice of a session. */
export async function workspacesOfUser(reads: Reads, userId: string): Promise<WorkspaceOfUser[]> {
  const { rows } = await reads.ofNone.query<WorkspaceOfUser>(
    "select id, name, role, member_id from work.workspaces_of_user($1) order by lower(name), id",
    [userId],
  );
  return rows;
}
