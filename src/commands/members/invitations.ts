import { Rejected } from "#streams/decider.ts";
import { memberById } from "#streams/member/decider.ts";
import type { Role } from "#streams/member/roles.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { derivedId } from "../ids.ts";
import { linkUrl } from "../users/accountLetterTexts.ts";

const invitationDays = 7;
const dayMs = 86_400_000;

/** Returns the expiry (ISO 8601) of an invitation issued now. The invitation's link stays valid until then. */
export const invitationExpiry = ({ clock }: Pick<Dependencies, "clock">): string =>
  new Date(clock.now().getTime() + invitationDays * dayMs).toISOString();

/** Invitation that a link belongs to. `first`: true if the holder becomes the first owner, with an address that they enter. */
type InvitationTarget = { workspaceId: string; memberId: string; first?: true };

/** An invitation as shown on its page. `email` is null if the holder enters their address. */
export type Invitation = { workspaceId: string; workspaceName: string; email: string | null; role: Role };

/** The person who accepts an invitation. */
export type Accepting = { userId: string; email: string };

/** Creates a new link for an open invitation, which invalidates earlier links. Throws Rejected not_found if the member is not invited. */
export async function invitationLink(
  deps: Dependencies,
  { workspaceId, memberId }: { workspaceId: string; memberId: string },
): Promise<string> {
  const member = memberById((await deps.members.load(workspaceId)).state, memberId);
  if (member?.status !== "invited") throw new Rejected("not_found", "no such invitation");
  const about: InvitationTarget = { workspaceId, memberId };
  const link = { kind: "invitation", subject: memberId, about, address: member.email } as const;
  return linkUrl(deps.settings, "invitation", await deps.accounts.links.issue(link));
}

/**
 * Creates a link whose holder becomes the first owner of a workspace, with an address that they enter. Only for the operator, who has full
 * access anyway. Returns undefined if the workspace has an active member; such links are then invalid too.
 */
export async function firstOwnerLink(deps: Dependencies, workspaceId: string): Promise<string | undefined> {
  const { state } = await deps.members.load(workspaceId);
  if (state.members.some(({ status }) => status === "active")) return undefined;
  const memberId = derivedId("first owner", workspaceId);
  const about: InvitationTarget = { workspaceId, memberId, first: true };
  const link = { kind: "invitation", subject: memberId, about, address: "" } as const;
  return linkUrl(deps.settings, "invitation", await deps.accounts.links.issue(link));
}

/** Returns the invitation of a link; the link stays usable. Throws BadLink, and Rejected if the invitation has ended. */
export async function findInvitation(deps: Dependencies, token: string): Promise<Invitation> {
  const { about, address } = await deps.accounts.links.find<InvitationTarget>("invitation", token);
  return offered(deps, about, address);
}

/**
 * Accepts an invitation. `as` returns the person who accepts: a signed-in person, or the user of a newly created account. It receives the
 * invited address, which the link proves (null if the holder enters one), and may be called again for the same link after a crash. Throws
 * BadLink, any error of `as`, and Rejected invalid_request for an address other than the invited one, an ended invitation, or a person who
 * is already a member.
 */
export async function acceptInvitation(
  deps: Dependencies,
  { token, as }: { token: string; as: (invited: { email: string | null }) => Promise<Accepting> },
  cause: Cause,
): Promise<Accepting & Invitation & { memberId: string; position: number }> {
  return deps.accounts.links.use<InvitationTarget, Accepting & Invitation & { memberId: string; position: number }>(
    "invitation",
    token,
    async ({ about, address }) => {
      const { workspaceId, memberId, first } = about;
      const invitation = await offered(deps, about, address);
      const { userId, email } = await as({ email: invitation.email });
      const command = first
        ? ({ type: "JoinMember", memberId, userId, email, role: "owner", first } as const)
        : ({ type: "AcceptInvitation", memberId, userId, email, at: deps.clock.now().toISOString() } as const);
      const { position } = await deps.members.handle(workspaceId, command, { ...cause, workspaceId });
      return { ...invitation, userId, email, memberId, position };
    },
  );
}

async function offered(deps: Dependencies, about: InvitationTarget, address: string): Promise<Invitation> {
  const { workspaceId, memberId, first } = about;
  const { state } = await deps.members.load(workspaceId);
  const workspaceName = (await deps.workspaces.load(workspaceId)).state.name;
  if (first) {
    if (!state.members.some(({ status }) => status === "active")) {
      return { workspaceId, workspaceName, email: null, role: "owner" };
    }
    throw over("this workspace already has an owner: ask them for an invitation");
  }
  const member = memberById(state, memberId);
  if (member === undefined) throw over("this invitation was withdrawn: ask for a new one");
  return { workspaceId, workspaceName, email: address, role: member.role };
}

const over = (sentence: string): Rejected => new Rejected("invalid_request", `token: ${sentence}`, { field: "token" });
