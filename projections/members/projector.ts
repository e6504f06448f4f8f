import { type Actor, idOf, type Recorded } from "#streams/event.ts";
import type { MemberEvent } from "#streams/member/events.ts";
import type { Role } from "#streams/member/roles.ts";
import type { UserEvent } from "#streams/user/events.ts";
import type { Projection, Tx } from "../projection.ts";
import { rowsById, upsertRows } from "../rows.ts";

type MemberRow = {
  id: string;
  workspace_id: string;
  user_id: string | null;
  email: string;
  name: string | null;
  role: Role;
  status: "invited" | "active";
  invited_by: Pick<Actor, "kind" | "id" | "name"> | null;
  created_at: string;
  expires_at: string | null;
};
type UserRow = { id: string; workspace_id: null; email: string; name: string | null };

const members = {
  table: "members",
  columns: [
    ...["id", "workspace_id", "user_id", "email", "name", "role", "status", "invited_by", "created_at", "expires_at"],
  ],
};
const users = { table: "member_users", columns: ["id", "workspace_id", "email", "name"] };

type NamingEvent = Extract<UserEvent, { type: "UserRegistered" | "UserRenamed" | "UserEmailChanged" }>;
type Handled = Recorded<MemberEvent | NamingEvent>;

/** Rows concerned by a batch, as changed so far. */
type MemberBatch = { members: Map<string, MemberRow>; users: Map<string, UserRow>; removed: Set<string> };

export const memberRows: Projection<MemberEvent | NamingEvent> = {
  name: "members",
  version: 1,
  tables: ["members", "member_users"],
  handles: [
    ...(["MemberInvited", "InvitationRenewed", "InvitationAccepted", "MemberJoined", "MemberRoleChanged"] as const),
    ...(["MemberRemoved", "UserRegistered", "UserRenamed", "UserEmailChanged"] as const),
  ],
  async project(tx, events) {
    const batch = await concerned(tx, events);
    for (const event of events) apply(batch, event);
    if (batch.removed.size > 0) tx.write("delete from members where id = any($1::uuid[])", [[...batch.removed]]);
    upsertRows(tx, users, [...batch.users.values()]);
    upsertRows(tx, members, [...batch.members.values()]);
  },
};

/** Reads the rows that the events may concern. */
async function concerned(tx: Tx, events: readonly Handled[]): Promise<MemberBatch> {
  const userIds = events.flatMap((event) => userOf(event) ?? []);
  const memberIds = events.flatMap((event) => ("memberId" in event.data ? event.data.memberId : []));
  const [found, known] = await Promise.all([
    tx.query<MemberRow>(
      `select ${members.columns.join(", ")} from members where id = any($1::uuid[]) or user_id = any($2::uuid[])`,
      [memberIds, userIds],
    ),
    rowsById<UserRow>(tx, users, userIds),
  ]);
  return {
    members: new Map(found.rows.map((row) => [row.id, row])),
    users: known,
    removed: new Set(),
  };
}

function userOf(event: Handled): string | undefined {
  if ("memberId" in event.data) return "userId" in event.data ? event.data.userId : undefined;
  return idOf(event.stream);
}

function apply(batch: MemberBatch, event: Handled): void {
  if ("memberId" in event.data) applyToMember(batch, event as Recorded<MemberEvent>);
  else applyToUser(batch, event as Recorded<NamingEvent>);
}

function applyToUser(batch: MemberBatch, { stream, data }: Recorded<NamingEvent>): void {
  const id = idOf(stream);
  const before = batch.users.get(id) ?? { id, workspace_id: null, email: "", name: null };
  const user = { ...before, ...data };
  batch.users.set(id, user);
  for (const member of batch.members.values())
    if (member.user_id === id) batch.members.set(member.id, named(member, user));
}

function applyToMember(batch: MemberBatch, event: Recorded<MemberEvent>): void {
  const { memberId } = event.data;
  const change = (changed: Partial<MemberRow>): void => {
    const row = batch.members.get(memberId);
    if (row) batch.members.set(memberId, { ...row, ...changed });
  };
  switch (event.type) {
    case "MemberInvited":
    case "MemberJoined":
      batch.removed.delete(memberId);
      batch.members.set(memberId, newRow(event, batch));
      return;
    case "InvitationRenewed":
      change({ expires_at: event.data.expiresAt });
      return;
    case "InvitationAccepted": {
      const { userId } = event.data;
      change({ user_id: userId, status: "active", expires_at: null });
      const row = batch.members.get(memberId);
      if (row) batch.members.set(memberId, named(row, batch.users.get(userId)));
      return;
    }
    case "MemberRoleChanged":
      change({ role: event.data.role });
      return;
    case "MemberRemoved":
      batch.members.delete(memberId);
      batch.removed.add(memberId);
      return;
  }
}

function newRow(event: Recorded<Extract<MemberEvent, { type: "MemberInvited" | "MemberJoined" }>>, batch: MemberBatch) {
  const { memberId: id, email, role } = event.data;
  const { at, actor } = event.metadata;
  const row = {
    ...{ id, workspace_id: idOf(event.stream), email, role, name: null, created_at: at },
    ...{ user_id: null, status: "invited", expires_at: null, invited_by: null },
  } as MemberRow;
  if (event.type === "MemberInvited") {
    const invitedBy = { kind: actor.kind, id: actor.id, ...(actor.name === undefined ? {} : { name: actor.name }) };
    return { ...row, expires_at: event.data.expiresAt, invited_by: invitedBy };
  }
  const { userId } = event.data;
  return named({ ...row, user_id: userId, status: "active" as const }, batch.users.get(userId));
}

const named = (member: MemberRow, user: UserRow | undefined): MemberRow =>
  user ? { ...member, email: user.email, name: user.name } : member;
