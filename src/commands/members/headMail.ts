import { activeMember } from "#streams/member/decider.ts";
import type { HeadMail } from "#streams/member/headMail.ts";
import type { Role } from "#streams/member/roles.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { accountsOfMembers } from "./accountsOf.ts";

/** Roles that read the audit tree. Their rights are in src/http/framework/roles.ts. */
export const headReaderRoles: readonly Role[] = ["owner", "admin", "auditor"];

/** Returns the mail about signed heads that a member chose in this workspace. */
export async function headMailOf(
  deps: Pick<Dependencies, "members">,
  { workspaceId, userId }: { workspaceId: string; userId: string },
): Promise<HeadMail> {
  return activeMember((await deps.members.load(workspaceId)).state, userId)?.headMail ?? "off";
}

/** Records the mail about signed heads that the signed-in member chooses. Throws Rejected not_found if they are no member. */
export const chooseHeadMail = (
  deps: Pick<Dependencies, "members">,
  { workspaceId, headMail }: { workspaceId: string; headMail: HeadMail },
  cause: Cause,
): Promise<{ position: number }> =>
  deps.members.handle(workspaceId, { type: "ChooseHeadMail", userId: cause.actor.id, headMail }, cause);

/**
 * Returns the choice of a member, and the address to mail now; undefined if the member was removed. `email`: null for a member whose role
 * does not read the audit tree, and for one who cannot sign in.
 */
export async function headReader(
  deps: Pick<Dependencies, "members" | "users">,
  { workspaceId, memberId }: { workspaceId: string; memberId: string },
): Promise<{ headMail: HeadMail; email: string | null } | undefined> {
  const [found] = await accountsOfMembers(deps, workspaceId, (member) => member.memberId === memberId);
  if (found === undefined) return undefined;
  const { member, user } = found;
  const mayRead = headReaderRoles.includes(member.role) && !user.disabled;
  return { headMail: member.headMail ?? "off", email: mayRead ? user.email : null };
}
