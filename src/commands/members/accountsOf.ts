import type { Member } from "#streams/member/decider.ts";
import type { User } from "#streams/user/decider.ts";
import type { Dependencies } from "../dependencies.ts";

/** Returns the selected members of a workspace who have joined, each with their present account; accounts are loaded in parallel. */
export async function accountsOfMembers(
  deps: Pick<Dependencies, "members" | "users">,
  workspaceId: string,
  isMeant: (member: Member) => boolean,
): Promise<{ userId: string; member: Member; user: User }[]> {
  const { members } = (await deps.members.load(workspaceId)).state;
  const joined = members.flatMap((member) =>
    member.userId !== null && isMeant(member) ? [[member.userId, member] as const] : [],
  );
  return Promise.all(
    joined.map(async ([userId, member]) => ({ userId, member, user: (await deps.users.load(userId)).state })),
  );
}
