import type { Request } from "express";
import type { StreamServices } from "#src/commands/handle.ts";
import type { Session, Sessions } from "#src/platform/accounts/sessions.ts";
import { activeMember } from "#streams/member/decider.ts";
import { memberStream } from "#streams/member/events.ts";
import type { Credential } from "../framework/entryPoint.ts";
import type { RequestsInFlight } from "../framework/keys/requestsInFlight.ts";
import type { SessionPrincipal } from "../framework/principal.ts";
import { scopesOf } from "../framework/roles.ts";
import type { SessionCookie } from "./cookie.ts";
import { NoWorkspace, SignedOut } from "./refusals.ts";
import { sessionOf } from "./sessionOf.ts";

/**
 * Resolves with the session's current rights in its workspace, read from streams, so that removing or disabling a member takes effect
 * immediately. Undefined if the session has no rights there.
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

export type SessionOptions = {
  deps: { accounts: { sessions: Sessions } };
  cookie: SessionCookie;
  principalOf: PrincipalOf;
  inFlight: RequestsInFlight;
  /** Resolves when this instance has read every revocation that another instance has confirmed. */
  upToDate(): void | Promise<void>;
};

/**
 * Identifies people by the session of their browser, and rotates its cookie when due. `isQuiet`: a script polls, perhaps without a person,
 * which does not extend the session. Throws SignedOut, NoWorkspace.
 */
export const sessionCredential = (
  { deps, cookie, principalOf, inFlight, upToDate }: SessionOptions,
  isQuiet: (request: Request) => boolean,
): Credential<SessionPrincipal> => ({
  async credential(request, response) {
    const parts = { sessions: deps.accounts.sessions, cookie, quietly: isQuiet(request) };
    const session = await sessionOf(parts, request, response);
    if (!session) throw new SignedOut();
    const principal = await principalOf(session);
    if (!principal) throw new NoWorkspace();
    return principal;
  },
  enter: ({ id }, callId) => inFlight.enter(id, callId),
  upToDate,
});
