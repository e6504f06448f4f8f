import { type Member, type Members, memberById, placeOf } from "#streams/member/decider.ts";
import type { Role } from "#streams/member/roles.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { newId } from "../ids.ts";
import { personOf } from "../users/users.ts";
import { accountsOf } from "./accountsOf.ts";
import { askerOf, asMembersMayChange } from "./asker.ts";
import { invitationEnd } from "./invitations.ts";

/** Of a person who lost a right or got another one: the sessions that nothing may be answered under any more. */
export type Changed = { position: number; endedSessions: readonly string[] };

/**
 * Invites an address; one that is invited already, to the same role, is invited again, and a member of that role stays what they are. The process
 * mailInvitations writes the mail. Throws Rejected: the rules of streams/member, human_approval_required for a key.
 */
export async function invite(
  deps: Dependencies,
  { workspaceId, email, role }: { workspaceId: string; email: string; role: Role },
  cause: Cause,
): Promise<{ memberId: string; position: number }> {
  const memberId = newId(deps, cause, "member");
  const holder = (await personOf(deps, email))?.userId ?? null;
  const by = askerOf(cause);
  const expiresAt = invitationEnd(deps);
  return asMembersMayChange(deps, { workspaceId, cause }, async (within) => {
    const command = { type: "InviteMember" as const, memberId, email, holder, role, expiresAt, by };
    const { state, position } = await deps.members.handle(workspaceId, command, within);
    return { memberId: placeOf(state, { email, holder })?.memberId ?? memberId, position };
  });
}

/** Sends an invitation again: with a new link, and seven days from now. */
export async function resendInvitation(
  deps: Dependencies,
  { workspaceId, memberId }: { workspaceId: string; memberId: string },
  cause: Cause,
): Promise<{ position: number }> {
  const command = { type: "RenewInvitation" as const, memberId, expiresAt: invitationEnd(deps), by: askerOf(cause) };
  return asMembersMayChange(deps, { workspaceId, cause }, (within) =>
    deps.members.handle(workspaceId, command, within),
  );
}

export async function changeRole(
  deps: Dependencies,
  { workspaceId, memberId, role }: { workspaceId: string; memberId: string; role: Role },
  cause: Cause,
): Promise<Changed> {
  const disabled = await disabledOwners(deps, workspaceId);
  const command = { type: "ChangeRole" as const, memberId, role, by: askerOf(cause), disabled };
  return asMembersMayChange(deps, { workspaceId, cause }, async (within) => {
    const { state, position, changed } = await deps.members.handle(workspaceId, command, within);
    const userId = changed ? memberById(state, memberId)?.userId : undefined;
    return { position, endedSessions: await endRights(deps, workspaceId, userId) };
  });
}

/** Removes a member, or withdraws an invitation. Everybody may remove themselves, but for the only owner. */
export async function removeMember(
  deps: Dependencies,
  { workspaceId, memberId }: { workspaceId: string; memberId: string },
  cause: Cause,
): Promise<Changed> {
  const by = askerOf(cause);
  const disabled = await disabledOwners(deps, workspaceId);
  return asMembersMayChange(deps, { workspaceId, cause }, async (within) => {
    // Of the state that is decided on, which may be newer than any that could be looked at before.
    let removed: Member | undefined;
    const command = (state: Members) => {
      removed = memberById(state, memberId) ?? removed;
      return { type: "RemoveMember" as const, memberId, by, disabled };
    };
    const { position } = await deps.members.handle(workspaceId, command, within);
    return { position, endedSessions: await endRights(deps, workspaceId, removed?.userId) };
  });
}

/** The member as the stream has it; undefined if this workspace has none of that id. */
export async function memberState(
  deps: Pick<Dependencies, "members">,
  { workspaceId, memberId }: { workspaceId: string; memberId: string },
): Promise<Member | undefined> {
  return memberById((await deps.members.load(workspaceId)).state, memberId);
}

/** The owners of a workspace under the addresses they have now; without those whom the operator disabled. */
export async function activeOwners(
  deps: Pick<Dependencies, "members" | "users">,
  workspaceId: string,
): Promise<{ userId: string; email: string }[]> {
  const owners = await accountsOf(deps, workspaceId, isOwner);
  return owners.flatMap(({ userId, user: { email, disabled } }) =>
    email !== null && !disabled ? [{ userId, email }] : [],
  );
}

/** Looked at before the change is decided: whom the operator disables in that very moment still counts. */
async function disabledOwners(
  deps: Pick<Dependencies, "members" | "users">,
  workspaceId: string,
): Promise<readonly string[]> {
  const owners = await accountsOf(deps, workspaceId, isOwner);
  return owners.flatMap(({ userId, user }) => (user.disabled ? [userId] : []));
}

const isOwner = ({ role }: Member): boolean => role === "owner";

/** The person's sessions of this workspace go on under new ids. Answers the old ones. */
const endRights = async (
  { accounts }: Dependencies,
  workspaceId: string,
  userId: string | null | undefined,
): Promise<readonly string[]> => (userId ? accounts.sessions.renew(userId, workspaceId) : []);
