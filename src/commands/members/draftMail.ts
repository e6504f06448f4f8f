import { activeMember } from "#streams/member/decider.ts";
import type { DraftMail } from "#streams/member/draftMail.ts";
import { approverRoles } from "../approvals/voters.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { accountsOfMembers } from "./accountsOf.ts";

/** Returns the mail about drafts that a member chose in this workspace. */
export async function draftMailOf(
  deps: Pick<Dependencies, "members">,
  { workspaceId, userId }: { workspaceId: string; userId: string },
): Promise<DraftMail> {
  return activeMember((await deps.members.load(workspaceId)).state, userId)?.draftMail ?? "off";
}

/** Records the mail about drafts that the signed-in member chooses. Throws Rejected not_found if they are no member. */
export const chooseDraftMail = (
  deps: Pick<Dependencies, "members">,
  { workspaceId, draftMail }: { workspaceId: string; draftMail: DraftMail },
  cause: Cause,
): Promise<{ position: number }> =>
  deps.members.handle(workspaceId, { type: "ChooseDraftMail", userId: cause.actor.id, draftMail }, cause);

/** Length of a window in milliseconds. Windows are the same for everyone: they begin at multiples of their length. */
export const draftMailWindowMs: Record<Exclude<DraftMail, "off">, number> = {
  five_minutes: 5 * 60_000,
  hour: 60 * 60_000,
};

/** A member who gets mail about drafts now. */
export type DraftMailReader = { userId: string; email: string; draftMail: Exclude<DraftMail, "off"> };

/** Returns the members who chose mail about drafts, may decide, and can sign in; each with their present address. */
export async function draftMailReaders(
  deps: Pick<Dependencies, "members" | "users">,
  workspaceId: string,
): Promise<DraftMailReader[]> {
  const chosen = await accountsOfMembers(
    deps,
    workspaceId,
    ({ role, draftMail = "off" }) => draftMail !== "off" && approverRoles.includes(role),
  );
  return chosen.flatMap(({ userId, member: { draftMail = "off" }, user: { email, disabled } }) =>
    draftMail === "off" || email === null || disabled ? [] : [{ userId, email, draftMail }],
  );
}
