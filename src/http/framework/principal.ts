import type { Request } from "express";
import type { Guard } from "#src/eventStore/eventStore.ts";
import { Rejected } from "#streams/decider.ts";
import type { Actor } from "#streams/event.ts";
import type { Role } from "#streams/member/roles.ts";
import type { Scope } from "./keys/scopes.ts";

type PrincipalFields = {
  id: string;
  workspaceId: string;
  name: string;
  scopes: readonly string[];
  /**
   * Guard on the stream that grants the right, at its current revision. Commands pass it to the append, so that nothing is recorded after a
   * revocation (streams/README.md, invariant 7).
   */
  guard?: Guard;
};

/** A live API key. */
export type KeyPrincipal = PrincipalFields & { kind: "api_key" };

/** A signed-in person in one of their workspaces. `id` is the session's, which changes whenever one of their rights does. */
export type SessionPrincipal = PrincipalFields & {
  kind: "session";
  user: { id: string; email: string; name: string | null };
  memberId: string;
  role: Role;
  /** Time at which the password was last entered in this session. */
  passwordAt: Date;
};

/** The caller of a route. The same rules apply to both kinds. */
export type Principal = KeyPrincipal | SessionPrincipal;

const maxUserAgent = 512;

/** The principal as events name it, with the IP address, user agent and id of the request. */
export function actorOf(principal: Principal, request: Request): Actor {
  const userAgent = request.headers["user-agent"]?.slice(0, maxUserAgent);
  return {
    kind: principal.kind,
    ...(principal.kind === "session"
      ? { id: principal.user.id, name: principal.name, email: principal.user.email }
      : { id: principal.id, name: principal.name }),
    ...(request.ip === undefined ? {} : { ip: request.ip }),
    ...(userAgent === undefined ? {} : { userAgent }),
    requestId: String(request.id),
  };
}

/** Throws Rejected insufficient_scope. */
export function requireScope(principal: Principal, scope: Scope): void {
  if (principal.scopes.includes(scope)) return;
  const sentence =
    principal.kind === "api_key"
      ? `this API key does not have the scope ${scope}, which this request needs`
      : `your role in this workspace (${principal.role}) does not allow this: it needs the right ${scope}`;
  throw new Rejected("insufficient_scope", sentence);
}
