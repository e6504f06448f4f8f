import type { Session } from "#src/accounts/sessions.ts";
import type { StreamServices } from "#src/commands/handle.ts";
import { activeMember } from "#streams/member/decider.ts";
import { memberStream } from "#streams/member/events.ts";
import type { SessionPrincipal } from "../framework/principal.ts";
import { scopesOf } from "../framework/roles.ts";

/**
 * What a session may do at this moment, in the workspace it shows, judged on streams: who was removed or disabled a moment ago may do nothing.
 * Undefined if that is nothing.
 */
export type PrincipalOf = (
  session: Pick<Session, "id" | "userId" | "workspaceId" | "passwordAt">,
) => Promise<SessionPrincipal | undefined>;

export const principalOf =
  ({ users, members }: Pick<StreamServices, "users" | "members">): PrincipalOf =>
  async ({ id, userId, workspaceId, passwordAt }) => {
    if (workspaceId === null) return undefined;
    const [{ state: user }, { state, revision }] = await Promise.all([users.load(userId), members.load(workspaceId)]);
    const member = activeMember(state, userId);
    if (user.email === null || user.disabled || !member) return undefined;
    return {
      kind: "session",
      ...{ id, workspaceId, passwordAt, memberId: member.memberId, role: member.role },
      name: user.name ?? user.email,
      user: { id: userId, email: user.email, name: user.name },
      scopes: scopesOf(member.role),
      guard: { stream: memberStream(workspaceId), revision },
    };
  };
