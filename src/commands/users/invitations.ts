import { createHash } from "node:crypto";
import { invalidRequest, notFound } from "#streams/decider.ts";
import { activeMember } from "#streams/member/decider.ts";
import type { Dependencies } from "../dependencies.ts";
import { derivedId } from "../ids.ts";
import { acceptInvitation, findInvitation, type Invitation } from "../members/invitations.ts";
import { requireGoodPassword } from "./passwordRules.ts";
import type { SignedIn } from "./signIn.ts";
import { createOwnedWorkspace, createUser } from "./signUp.ts";
import { causeOfLink, causeOfPerson, personOf, type RequestOrigin, type UserAccount, withLink } from "./users.ts";

/**
 * Returns an invitation, and whether its address has an account. The holder of the link may know that, because they read the mail of that
 * address.
 */
export async function findInvited(deps: Dependencies, token: string): Promise<Invitation & { hasAccount: boolean }> {
  const invitation = await withLink(() => findInvitation(deps, token));
  const person = invitation.email === null ? undefined : await personOf(deps, invitation.email);
  return { ...invitation, hasAccount: person !== undefined };
}

/**
 * Makes a signed-in person a member. Throws Rejected invalid_request if the link is invalid, or was sent to an address other than theirs.
 */
export async function acceptSignedIn(
  deps: Dependencies,
  { token, who: { person } }: { token: string; who: SignedIn },
  by: RequestOrigin,
): Promise<{ workspaceId: string; position: number }> {
  const as = async () => ({ userId: person.userId, email: person.email });
  return withLink(() => acceptInvitation(deps, { token, as }, causeOfPerson(deps, person, by)));
}

export type NewMember = { token: string; password: string; name: string | null; email: string | undefined };

/**
 * Creates the user of an invited address and accepts the invitation for them. `email`: only if the invitation has no address. If it is
 * interrupted, the same link continues it. Throws Rejected invalid_request for an invalid link, an unsuitable password, or an address that
 * has an account.
 */
export async function acceptAsNew(
  deps: Dependencies,
  { token, password, name, email: named }: NewMember,
  by: RequestOrigin,
): Promise<{ person: UserAccount; workspaceId: string; position: number }> {
  if (deps.settings.signUp === "closed")
    throw invalidRequest("password", "new accounts are not allowed here: sign in with an existing account");
  const invitation = await withLink(() => findInvitation(deps, token));
  const email = invitation.email ?? named;
  if (email === undefined)
    throw invalidRequest("email", "expected your email address, because this invitation names none");
  requireGoodPassword(password, { email });
  const cause = causeOfLink(deps, email, by);
  // The id is derived from the link's token, so that a repetition creates the same user, and another link does not.
  const userId = derivedId("invited user", createHash("sha256").update(token).digest("hex"));
  let person: UserAccount | undefined;
  const as = async () => {
    const unconfirmed = invitation.email === null;
    person = await createUser(deps, { userId, email, name, password, unconfirmed }, cause);
    return { userId: person.userId, email };
  };
  const accepted = await withLink(() => acceptInvitation(deps, { token, as }, cause));
  return { ...accepted, person: person as UserAccount };
}

/** Throws Rejected not_found if the person is not a member of the workspace. */
export async function requireMember(
  deps: Dependencies,
  { person, workspaceId }: { person: UserAccount; workspaceId: string },
): Promise<void> {
  if (!activeMember((await deps.members.load(workspaceId)).state, person.userId)) {
    throw notFound("workspace_id", "workspace");
  }
}

/** Creates another workspace owned by the person. */
export const createAnotherWorkspace = (
  deps: Dependencies,
  { who: { person }, name }: { who: SignedIn; name: string },
  by: RequestOrigin,
): Promise<{ workspaceId: string; position: number }> =>
  createOwnedWorkspace(deps, { workspaceId: deps.ids.uuid(), name, person }, causeOfPerson(deps, person, by));
