import { type Member, type Members, memberById, memberOrInvitationOf } from "#streams/member/decider.ts";
import type { Role } from "#streams/member/roles.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { newId } from "../ids.ts";
import { personOf } from "../users/users.ts";
import { accountsOfMembers } from "./accountsOf.ts";
import { changeMembers, memberChanger } from "./changeMembers.ts";
import { invitationExpiry } from "./invitations.ts";

/** Result of a change. `endedSessions`: sessions of a person whose rights changed; no request may be answered under these any more. */
export type MemberChange = { position: number; endedSessions: readonly string[] };

/**
 * Invites an address. If the address is already invited to the same role, it is invited again; a member with that role is not changed. The
 * process mailInvitations sends the mail. Throws Rejected: the refusals of streams/member, and human_approval_required for an API key.
 */
export async function invite(
  deps: Dependencies,
  { workspaceId, email, role }: { workspaceId: string; email: string; role: Role },
  cause: Cause,
): Promise<{ memberId: string; position: number }> {
  const memberId = newId(deps, cause, "member");
  const holder = (await personOf(deps, email))?.userId ?? null;
  const by = memberChanger(cause);
  const expiresAt = invitationExpiry(deps);
  return changeMembers(deps, { workspaceId, cause }, async (within) => {
    const command = { type: "InviteMember" as const, memberId, email, holder, role, expiresAt, by };
    const { state, position } = await deps.members.handle(workspaceId, command, within);
    return { memberId: memberOrInvitationOf(state, { email, holder })?.memberId ?? memberId, position };
  });
}

/** Renews an invitation with a new link that is valid for seven days. */
export async function resendInvitation(
  deps: Dependencies,
  { workspaceId, memberId }: { workspaceId: string; memberId: string },
  cause: Cause,
): Promise<{ position: number }> {
  const command = {
    type: "RenewInvitation" as const,
    memberId,
    expiresAt: invitationExpiry(deps),
    by: memberChanger(cause),
  };
  return changeMembers(deps, { workspaceId, cause }, (within) => deps.members.handle(workspaceId, command, within));
}

export async function changeRole(
  deps: Dependencies,
  { workspaceId, memberId, role }: { workspaceId: string; memberId: string; role: Role },
  cause: Cause,
): Promise<MemberChange> {
  const disabled = await disabledOwners(deps, workspaceId);
  const command = { type: "ChangeRole" as const, memberId, role, by: memberChanger(cause), disabled };
  return changeMembers(deps, { workspaceId, cause }, async (within) => {
    const { state, position, changed } = await deps.members.handle(workspaceId, command, within);
    const userId = changed ? memberById(state, memberId)?.userId : undefined;
    return { position, endedSessions: await endRights(deps, workspaceId, userId) };
  });
}

/** Removes a member, or withdraws an invitation. Members may remove themselves, except for the only owner. */
export async function removeMember(
  deps: Dependencies,
  { workspaceId, memberId }: { workspaceId: string; memberId: string },
  cause: Cause,
): Promise<MemberChange> {
  const by = memberChanger(cause);
  const disabled = await disabledOwners(deps, workspaceId);
  return changeMembers(deps, { workspaceId, cause }, async (within) => {
    // Set while the stream decides, because that state may be newer than any loaded before.
    let removed: Member | undefined;
    const command = (state: Members) => {
      removed = memberById(state, memberId) ?? removed;
      return { type: "RemoveMember" as const, memberId, by, disabled };
    };
    const { position } = await deps.members.handle(workspaceId, command, within);
    return { position, endedSessions: await endRights(deps, workspaceId, removed?.userId) };
  });
}

/** Returns a member from the stream; undefined if this workspace has no such member. */
export async function memberState(
  deps: Pick<Dependencies, "members">,
  { workspaceId, memberId }: { workspaceId: string; memberId: string },
): Promise<Member | undefined> {
  return memberById((await deps.members.load(workspaceId)).state, memberId);
}

/** Returns a workspace's owners with their present addresses, except those disabled by the operator. */
export async function activeOwners(
  deps: Pick<Dependencies, "members" | "users">,
  workspaceId: string,
): Promise<{ userId: string; email: string }[]> {
  const owners = await accountsOfMembers(deps, workspaceId, isOwner);
  return owners.flatMap(({ userId, user: { email, disabled } }) =>
    email !== null && !disabled ? [{ userId, email }] : [],
  );
}

/**
 * Returns the owners disabled by the operator. Called before the change is decided; an owner who is disabled at that very moment still
 * counts as active.
 */
async function disabledOwners(
  deps: Pick<Dependencies, "members" | "users">,
  workspaceId: string,
): Promise<readonly string[]> {
  const owners = await accountsOfMembers(deps, workspaceId, isOwner);
  return owners.flatMap(({ userId, user }) => (user.disabled ? [userId] : []));
}

const isOwner = ({ role }: Member): boolean => role === "owner";

/** Moves the person's sessions in this workspace to new ids and returns the old ids. */
const endRights = async (
  { accounts }: Dependencies,
  workspaceId: string,
  userId: string | null | undefined,
): Promise<readonly string[]> => (userId ? accounts.sessions.renew(userId, workspaceId) : []);
